// Resolves references and combinations of schemas into alternatives without either.
import { areApart, merge } from './merge.ts';
import { below, checkedSchema, isObject, listOf, schemaError, textOf } from './schema.ts';
import type { Schema, SchemaObject } from './schema.ts';

/** A limit is needed because the numbers of choices multiply when schemas are combined. */
const maxVariants = 200;

export class SchemaResolver {
  readonly #root: unknown;

  constructor(root: unknown) {
    this.#root = root;
  }

  /** Returns the schema to which a reference such as "#/$defs/name" points. */
  resolve(reference: unknown, at: string): Schema {
    if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
      throw schemaError(
        at,
        `the reference ${JSON.stringify(reference)} is not supported, only "#" and "#/…" are`,
      );
    }
    let found: unknown = this.#root;
    for (const key of reference.split('/').slice(1)) {
      const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
      const holder: unknown = found;
      found = undefined;
      if (Array.isArray(holder)) found = holder[Number(name)];
      else if (isObject(holder) && Object.hasOwn(holder, name)) found = holder[name];
    }
    if (found === undefined)
      throw schemaError(at, `there is nothing at the reference "${reference}"`);
    return checkedSchema(found, reference).schema;
  }

  /**
   * Returns schemas without $ref, allOf, anyOf, oneOf and const. A value is valid if it is valid
   * under one of them. Returns none if no value is valid. `open`: the references that are being
   * followed.
   */
  variants(value: unknown, at: string, open: readonly string[] = []): SchemaObject[] {
    const { schema, keywords } = checkedSchema(value, at);
    if (typeof schema === 'boolean') return schema ? [{}] : [];
    let found: SchemaObject[] = [ownKeywords(schema, keywords)];
    const demand = (choices: SchemaObject[]) => {
      found = found
        .flatMap((a) => choices.map((b) => merge(a, b, at)))
        .filter((merged) => merged !== undefined);
      if (found.length > maxVariants) {
        throw schemaError(at, `it stands for more than ${String(maxVariants)} alternatives`);
      }
    };
    if (keywords.includes('$ref')) {
      const reference = textOf(schema, '$ref', at) ?? '';
      if (open.includes(reference)) throw schemaError(at, `"${reference}" is defined by itself`);
      demand(this.variants(this.resolve(reference, at), reference, [...open, reference]));
    }
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      if (!keywords.includes(keyword)) continue;
      const branches = listOf(schema, keyword, at).map((branch, i) =>
        this.variants(branch, below(at, keyword, i), open),
      );
      if (keyword === 'oneOf') this.#checkApart(branches, at);
      if (keyword === 'allOf') branches.forEach(demand);
      else demand(branches.flat());
    }
    return found;
  }

  /**
   * Refuses branches of oneOf that may overlap: a value that is valid under two of them is invalid.
   */
  #checkApart(branches: SchemaObject[][], at: string): void {
    const variants = (schema: unknown, place: string) => this.variants(schema, place);
    branches.forEach((branch, i) => {
      for (const [j, other] of branches.slice(0, i).entries()) {
        const overlaps = branch.some((a) => other.some((b) => !areApart(a, b, at, variants)));
        if (!overlaps) continue;
        throw schemaError(
          at,
          `alternatives ${String(j)} and ${String(i)} of "oneOf" may both be true of a value: ` +
            'tell them apart by a type or by a required property with a "const", or use "anyOf"',
        );
      }
    });
  }
}

function ownKeywords(schema: SchemaObject, keywords: string[]): SchemaObject {
  const own = Object.fromEntries(
    keywords.filter((k) => !/^(\$ref|allOf|anyOf|oneOf|const)$/.test(k)).map((k) => [k, schema[k]]),
  );
  if (!keywords.includes('const')) return own;
  const values = Array.isArray(own.enum) ? own.enum : [schema.const];
  return { ...own, enum: merge({ enum: values }, { enum: [schema.const] }, '')?.enum ?? [] };
}

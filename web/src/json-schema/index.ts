/** JSON schemas (draft 2020-12) → GBNF. */
import { KingletError } from '../errors.ts';
import { alternatives, complement, literal, repeat, sequence } from './gbnf.ts';
import type { CodePoints } from './gbnf.ts';
import { anyInteger, anyNumber, decimals, integers } from './numbers.ts';
import type { Bound } from './numbers.ts';
import { PatternError, patternToGbnf } from './pattern.ts';
import { SchemaResolver } from './resolve.ts';
import {
  below,
  checkedSchema,
  countOf,
  keywordsOf,
  listOf,
  numberOf,
  propertiesOf,
  requiredOf,
  schemaError,
  textOf,
  typeNames,
  typesOf,
} from './schema.ts';
import type { SchemaObject } from './schema.ts';
import { anyCharacter, characters, formats, inner } from './strings.ts';

/**
 * The grammar, in GBNF, of JSON texts that are valid under the schema.
 *
 * It may say less than the schema allows, never more: properties come in the order of the schema,
 * an object that names its properties has no others unless `additionalProperties` says so, tuples
 * are whole, numbers have at most 15 digits, and there is little white space.
 *
 * @throws KingletError `invalid_argument`, naming the place and the keyword that is not supported.
 */
export function grammarOfSchema(schema: unknown): string {
  try {
    return new SchemaCompiler(schema).compile();
  } catch (error) {
    if (error instanceof KingletError) throw error;
    // Values in a circle, or nested so deep that the stack ends.
    throw schemaError('#', `it is no JSON: ${String(error)}`);
  }
}

/** Schemas in schemas, as far as the program's own stack allows. */
const maxDepth = 200;

/** Bounds of numbers that have fractions: beyond, rounding might reach them. */
const maxDecimalBound = 1e9;

/** Rules that every schema may use; the value is their text, with the rules they refer to. */
const commonRules: Record<string, string> = {
  value: 'object | array | string | number | "true" | "false" | "null"',
  object: '"{" ws (pair ("," ws pair)*)? ws "}"',
  pair: 'string ":" ws value',
  array: '"[" ws (value ("," ws value)*)? ws "]"',
  string: String.raw`"\"" char* "\""`,
  char: anyCharacter,
  number: anyNumber,
  integer: anyInteger,
  ws: String.raw`(" " | "\n" [ \t]{0,20})?`,
};

class SchemaCompiler {
  readonly #schema: unknown;
  readonly #resolver: SchemaResolver;
  readonly #rules = new Map<string, string>();
  readonly #namesOfBodies = new Map<string, string>();
  readonly #namesOfReferences = new Map<string, string>();
  readonly #nNames = new Map<string, number>();
  #depth = 0;

  constructor(schema: unknown) {
    this.#schema = schema;
    this.#resolver = new SchemaResolver(schema);
  }

  compile(): string {
    const root = this.#convert(this.#schema, '#');
    if (root === undefined) throw schemaError('#', 'no value is valid');
    const rules = [['root', root], ...this.#rules].map(
      ([name = '', body = '']) => `${name} ::= ${body}`,
    );
    return `${rules.join('\n')}\n`;
  }

  /** What matches the schema; undefined where no value is valid. */
  #convert(value: unknown, at: string): string | undefined {
    if ((this.#depth += 1) > maxDepth) {
      throw schemaError(at, `schemas are nested more than ${String(maxDepth)} deep`);
    }
    const { schema, keywords } = checkedSchema(value, at);
    const [only] = keywords.length === 1 ? keywords : [];
    let found: string | undefined;
    if (only === '$ref' && schema instanceof Object) {
      found = this.#reference(schema.$ref, at);
    } else if (only === 'anyOf' && schema instanceof Object) {
      found = union(
        listOf(schema, only, at).map((branch, i) => this.#convert(branch, below(at, only, i))),
      );
    } else {
      found = union(
        this.#resolver.variants(schema, at).map((variant) => this.#variant(variant, at)),
      );
    }
    this.#depth -= 1;
    return found;
  }

  #reference(reference: unknown, at: string): string {
    const target = this.#resolver.resolve(reference, at);
    const pointer = String(reference);
    const known = this.#namesOfReferences.get(pointer);
    if (known !== undefined) return known;
    const name = this.#newName(pointer);
    this.#namesOfReferences.set(pointer, name);
    this.#rules.set(name, ''); // its place among the rules, and its name
    const body = this.#convert(target, pointer);
    if (body === undefined) throw schemaError(pointer, 'no value is valid');
    this.#rules.set(name, body);
    return name;
  }

  /** Of a schema that stands for itself. */
  #variant(schema: SchemaObject, at: string): string | undefined {
    if (schema.enum !== undefined) return this.#enumeration(schema, at);
    const keywords = Object.keys(schema);
    if (keywords.length === 0) return this.#common('value');
    const types = schema.type === undefined ? impliedTypes(keywords) : typesOf(schema, at);
    return union(
      types
        .filter((type) => type !== 'integer' || !types.includes('number'))
        .map((type) => this.#ofType(type, schema, at)),
    );
  }

  #ofType(type: string, schema: SchemaObject, at: string): string | undefined {
    switch (type) {
      case 'object':
        return this.#object(schema, at);
      case 'array':
        return this.#array(schema, at);
      case 'string':
        return this.#string(schema, at);
      case 'integer':
      case 'number':
        return this.#number(type, schema, at);
      case 'boolean':
        return '("true" | "false")';
      default:
        return '"null"';
    }
  }

  #enumeration(schema: SchemaObject, at: string): string | undefined {
    const other = Object.keys(schema).find((keyword) => !['enum', 'type'].includes(keyword));
    if (other !== undefined) {
      throw schemaError(at, `"${other}" beside "enum" or "const" is not supported`);
    }
    const types = schema.type === undefined ? typeNames : typesOf(schema, at);
    const values = listOf(schema, 'enum', at).filter((value) =>
      types.some((t) => isOfType(value, t)),
    );
    return union(values.map((value) => literal(JSON.stringify(value))));
  }

  #object(schema: SchemaObject, at: string): string | undefined {
    const properties = propertiesOf(schema, at);
    const required = requiredOf(schema, at);
    const isClosed = schema.properties !== undefined || required.length > 0;
    const { additionalProperties = !isClosed, propertyNames } = schema;
    if (propertyNames !== undefined && isClosed) {
      throw schemaError(at, '"propertyNames" beside "properties" or "required" is not supported');
    }
    const members: Member[] = [];
    for (const name of new Set([...Object.keys(properties), ...required])) {
      const isDeclared = Object.hasOwn(properties, name);
      const value = isDeclared
        ? this.#convert(properties[name], below(at, 'properties', name))
        : this.#convert(schema.additionalProperties ?? true, below(at, 'additionalProperties'));
      const isRequired = required.includes(name);
      if (value === undefined && isRequired) return undefined;
      if (value === undefined) continue;
      const text = sequence(literal(`${JSON.stringify(name)}:`), this.#common('ws'), value);
      members.push({ text: this.#rule(below(at, name), text), isRequired });
    }
    const additional = this.#convert(additionalProperties, below(at, 'additionalProperties'));
    const pair =
      additional === undefined ? undefined : this.#additionalPair(schema, additional, at);
    return this.#rule(at, this.#braces(members, pair, at));
  }

  /** A property that the schema does not name. */
  #additionalPair(schema: SchemaObject, value: string, at: string): string | undefined {
    const names = [...Object.keys(propertiesOf(schema, at)), ...requiredOf(schema, at)];
    let name: string | undefined = this.#common('string');
    if (schema.propertyNames !== undefined) {
      const place = below(at, 'propertyNames');
      name = this.#convert({ allOf: [{ type: 'string' }, schema.propertyNames] }, place);
      if (name === undefined) return undefined;
    } else if (names.length > 0) {
      name = this.#rule(below(at, 'other'), this.#otherName(names.map(inner), below(at, 'other')));
    }
    return this.#rule(below(at, 'pair'), sequence(name, '":"', this.#common('ws'), value));
  }

  /** Names that are none of `names`, followed by the quotation mark: each way to be different. */
  #otherName(names: string[], at: string): string {
    return sequence(String.raw`"\""`, this.#unlike(names, at));
  }

  #unlike(names: string[], at: string): string {
    const byFirst = new Map<string, string[]>();
    for (const name of names) {
      if (name === '') continue;
      const [first = ''] = /^(\\u.{4}|\\.|.)/su.exec(name) ?? [];
      byFirst.set(first, [...(byFirst.get(first) ?? []), name.slice(first.length)]);
    }
    const taken = [...byFirst.keys()].map((first): CodePoints => {
      const code = (JSON.parse(`"${first}"`) as string).codePointAt(0) ?? 0;
      return [code, code];
    });
    const branches = names.includes('') ? [] : [String.raw`"\""`];
    const rest = this.#rule('spelled', String.raw`${this.#plainCharacter()}* "\""`);
    branches.push(sequence(alternatives(characters(complement(taken))), rest));
    for (const [first, rests] of byFirst) {
      branches.push(sequence(literal(first), this.#rule(at, this.#unlike(rests, at))));
    }
    return alternatives(branches);
  }

  #plainCharacter(): string {
    return this.#rule('plain', alternatives(characters(complement([]))));
  }

  /**
   * Members in their order, then any number of `pair`. `first` matches from a member on where none
   * has been written yet, `next` where one has.
   */
  #braces(members: Member[], pair: string | undefined, at: string): string {
    const ws = this.#common('ws');
    let next = pair === undefined ? '' : repeat(sequence('","', ws, pair), 0, undefined);
    let first = pair === undefined ? '' : repeat(sequence(pair, next), 0, 1);
    for (const { text, isRequired } of [...members].reverse()) {
      const behind = next === '' ? [] : [this.#rule(below(at, 'next'), next)];
      const another = sequence('","', ws, text, ...behind);
      const only = sequence(text, ...behind);
      if (isRequired) {
        next = another;
        first = only;
      } else {
        next = behind[0] === undefined ? `${another}?` : alternatives([another, behind[0]]);
        first = first === '' ? `${only}?` : alternatives([only, first]);
      }
    }
    return first === '' ? sequence('"{"', ws, '"}"') : sequence('"{"', ws, first, ws, '"}"');
  }

  #array(schema: SchemaObject, at: string): string | undefined {
    const prefix = schema.prefixItems === undefined ? [] : listOf(schema, 'prefixItems', at);
    const least = countOf(schema, 'minItems', at) ?? 0;
    let most = countOf(schema, 'maxItems', at) ?? Infinity;
    const tuple: string[] = [];
    for (const [i, item] of prefix.entries()) {
      const text = i < most ? this.#convert(item, below(at, 'prefixItems', i)) : undefined;
      if (text === undefined) most = Math.min(most, i);
      else if (tuple.length === i) tuple.push(text);
    }
    const { items = prefix.length === 0 || least > prefix.length } = schema;
    const item = most > tuple.length ? this.#convert(items, below(at, 'items')) : undefined;
    if (item === undefined) most = Math.min(most, tuple.length);
    return least > most ? undefined : this.#rule(at, this.#brackets(tuple, item, least, most));
  }

  #brackets(tuple: string[], item: string | undefined, least: number, most: number): string {
    const ws = this.#common('ws');
    const parts = tuple.flatMap((text, i) => (i === 0 ? [text] : ['","', ws, text]));
    if (item !== undefined) {
      const bound = (n: number) => (most === Infinity ? undefined : most - n);
      const others = (n: number) =>
        repeat(sequence('","', ws, item), Math.max(0, least - n), bound(n));
      if (tuple.length > 0) parts.push(others(tuple.length));
      else parts.push(repeat(sequence(item, others(1)), Math.min(least, 1), 1));
    }
    return parts.length === 0
      ? sequence('"["', ws, '"]"')
      : sequence('"["', ws, ...parts, ws, '"]"');
  }

  #string(schema: SchemaObject, at: string): string | undefined {
    const quote = String.raw`"\""`;
    const [keyword, second] = keywordsOf.string
      .filter((name) => schema[name] !== undefined)
      .map((name) => name.replace(/^(min|max)L/, 'l'))
      .filter((name, i, names) => names.indexOf(name) === i);
    if (second !== undefined) {
      throw schemaError(at, `"${String(keyword)}" and "${second}" at once are not supported`);
    }
    if (keyword === undefined) return this.#common('string');
    if (keyword === 'length') {
      const least = countOf(schema, 'minLength', at) ?? 0;
      const most = countOf(schema, 'maxLength', at);
      if (most !== undefined && least > most) return undefined;
      return sequence(quote, repeat(this.#common('char'), least, most), quote);
    }
    const text = textOf(schema, keyword, at) ?? '';
    if (keyword === 'pattern') return this.#rule(at, sequence(quote, patternOf(text, at), quote));
    const format = formats.get(text);
    if (format === undefined) {
      const known = [...formats.keys()].join(', ');
      throw schemaError(at, `the format "${text}" is not supported; these are: ${known}`);
    }
    return sequence(quote, this.#rule(text, format), quote);
  }

  #number(type: 'integer' | 'number', schema: SchemaObject, at: string): string | undefined {
    const least = tighter(schema, 'minimum', 'exclusiveMinimum', 1, at);
    const most = tighter(schema, 'maximum', 'exclusiveMaximum', -1, at);
    if (!least && !most) return this.#common(type);
    const parts =
      type === 'integer' ? wholeNumbers(least, most, at) : numbersWithFractions(least, most, at);
    return parts.length > 0 ? this.#rule(at, alternatives(parts)) : undefined;
  }

  /** The name of a rule that matches `body`. */
  #rule(at: string, body: string): string {
    const known = this.#namesOfBodies.get(body);
    if (known !== undefined) return known;
    const name = this.#newName(at);
    this.#rules.set(name, body);
    this.#namesOfBodies.set(body, name);
    return name;
  }

  #common(name: string): string {
    if (!this.#rules.has(name)) {
      const body = commonRules[name] ?? '';
      this.#rules.set(name, body);
      for (const [used] of body.replace(/"(\\.|[^"\\])*"|\[[^\]]*\]/g, '').matchAll(/[a-z]+/g)) {
        this.#common(used);
      }
    }
    return name;
  }

  /** A name that tells where the rule comes from. */
  #newName(at: string): string {
    const words = at
      .split('/')
      .slice(-2)
      .join('-')
      .replace(/[^A-Za-z0-9]+/g, '-');
    const stem = words.replace(/^-+|-+$/g, '').replace(/^properties-/, '') || 'schema';
    let name = stem;
    const isTaken = () => name === 'root' || name in commonRules || this.#rules.has(name);
    let n = this.#nNames.get(stem) ?? 1;
    while (isTaken()) name = `${stem}-${String((n += 1))}`;
    this.#nNames.set(stem, n);
    return name;
  }
}

interface Member {
  text: string;
  isRequired: boolean;
}

function union(parts: (string | undefined)[]): string | undefined {
  const possible = parts.filter((part) => part !== undefined);
  return possible.length === 0 ? undefined : alternatives(possible);
}

/** A schema that only speaks of objects means objects, although others satisfy it, too. */
function impliedTypes(keywords: string[]): string[] {
  return Object.entries(keywordsOf)
    .filter(([, ofType]) => ofType.some((keyword) => keywords.includes(keyword)))
    .map(([type]) => type);
}

function isOfType(value: unknown, type: string): boolean {
  if (value === null) return type === 'null';
  if (Array.isArray(value)) return type === 'array';
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function patternOf(pattern: string, at: string): string {
  try {
    return patternToGbnf(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw schemaError(
      at,
      `the pattern ${JSON.stringify(pattern)} is not supported: ${error.message}`,
    );
  }
}

/** The tighter of an inclusive and an exclusive bound; `sign` 1 for the lower end. */
function tighter(
  schema: SchemaObject,
  inclusive: string,
  exclusive: string,
  sign: 1 | -1,
  at: string,
): Bound | undefined {
  const closed = numberOf(schema, inclusive, at);
  const open = numberOf(schema, exclusive, at);
  if (open !== undefined && (closed === undefined || sign * open >= sign * closed)) {
    return { value: open, open: true };
  }
  return closed === undefined ? undefined : { value: closed, open: false };
}

function wholeNumbers(least: Bound | undefined, most: Bound | undefined, at: string): string[] {
  const first = least && (least.open ? Math.floor(least.value) + 1 : Math.ceil(least.value));
  const last = most && (most.open ? Math.ceil(most.value) - 1 : Math.floor(most.value));
  for (const bound of [first, last]) {
    if (bound !== undefined && !Number.isSafeInteger(bound)) {
      throw schemaError(at, `the bound ${String(bound)} is beyond 2^53`);
    }
  }
  return integers(first, last);
}

function numbersWithFractions(
  least: Bound | undefined,
  most: Bound | undefined,
  at: string,
): string[] {
  for (const { value } of [least, most].filter((bound) => bound !== undefined)) {
    if (!Number.isInteger(value) || Math.abs(value) > maxDecimalBound) {
      throw schemaError(
        at,
        `the bound ${String(value)} of a number is not supported, only whole ones up to ` +
          `${String(maxDecimalBound)} are; an "integer" may have others`,
      );
    }
  }
  return decimals(least, most);
}

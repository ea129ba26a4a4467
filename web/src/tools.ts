// The tools that a model may call.
import { KingletError } from './errors.ts';
import type { KnownTool } from './protocol.ts';
import type { ChatTool } from './types.ts';

/**
 * Returns what the engine must know about the tools to read their calls. Some models write values
 * without quotes, so that only the tool's schema distinguishes strings from numbers.
 *
 * @throws KingletError `invalid_argument` if a tool is not valid.
 */
export function knownTools(tools: readonly ChatTool[]): KnownTool[] {
  return tools.map((tool) => {
    const { name, parameters } = (tool as Partial<ChatTool>).function ?? {};
    if (typeof name !== 'string') {
      throw new KingletError(
        'invalid_argument',
        'each of the tools must be { type: "function", function: { name, … } }',
      );
    }
    const root = (parameters ?? {}) as Schema;
    const properties = Object.entries((root.properties ?? {}) as Record<string, unknown>);
    const types = properties.map(([key, schema]) => ({ name: key, types: typesOf(schema, root) }));
    return {
      name,
      textParameters: types.filter((one) => one.types === typeBits.string).map((one) => one.name),
      mixedParameters: types.filter(
        (one) => one.types !== typeBits.string && one.types !== anyType && one.types !== 0,
      ),
    };
  });
}

type Schema = Record<string, unknown>;

/** The bits of the engine's ValueTypes. A number is an integer or has the bit 8. */
const typeBits = {
  ...{ null: 1, boolean: 2, integer: 4, number: 4 | 8, string: 16, array: 32, object: 64 },
};
const anyType = 127;
const stringKeywords = ['minLength', 'maxLength', 'pattern', 'format'];
const maxDepth = 16;

/**
 * Returns the types that a schema allows. A schema without a type, but with keywords of strings, is
 * one of strings.
 */
function typesOf(schema: unknown, root: Schema, depth = 0): number {
  if (typeof schema !== 'object' || schema === null || depth > maxDepth) return anyType;
  const found = schema as Schema;
  const inside = (inner: unknown) => typesOf(inner, root, depth + 1);
  const some = (items: unknown, bits: (item: unknown) => number) =>
    Array.isArray(items) ? items.reduce<number>((sum, item) => sum | bits(item), 0) : anyType;
  let types = anyType;
  if (Array.isArray(found.type)) types &= some(found.type, typeNamed);
  else if (found.type !== undefined) types &= typeNamed(found.type);
  if ('const' in found) types &= typeOfValue(found.const);
  if ('enum' in found) types &= some(found.enum, typeOfValue);
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    if (keyword in found) types &= some(found[keyword], inside);
  }
  if (Array.isArray(found.allOf)) for (const part of found.allOf) types &= inside(part);
  if ('$ref' in found) types &= inside(definitionOf(found.$ref, root));
  const isString = !('type' in found) && stringKeywords.some((keyword) => keyword in found);
  return isString && types & typeBits.string ? types & typeBits.string : types;
}

function typeNamed(name: unknown): number {
  return Object.hasOwn(typeBits, String(name)) ? typeBits[name as keyof typeof typeBits] : anyType;
}

function typeOfValue(value: unknown): number {
  if (value === null) return typeBits.null;
  if (Array.isArray(value)) return typeBits.array;
  if (typeof value === 'number') return Number.isInteger(value) ? typeBits.integer : 8;
  return typeNamed(typeof value);
}

/** Returns the part of `root` that a reference such as "#/$defs/name" names. */
function definitionOf(reference: unknown, root: Schema): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const name of reference.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Schema)[name];
  }
  return found;
}

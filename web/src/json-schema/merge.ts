// Merges two schemas into one that requires both.
import {
  below,
  countOf,
  listOf,
  numberOf,
  propertiesOf,
  requiredOf,
  schemaError,
  spelled,
  textOf,
  typesOf,
} from './schema.ts';
import type { SchemaObject } from './schema.ts';

/**
 * Merges schemas without $ref, allOf, anyOf and oneOf. Returns undefined if no value can be valid.
 */
export function merge(a: SchemaObject, b: SchemaObject, at: string): SchemaObject | undefined {
  checkPatternProperties(a, b, at);
  const merged: Record<string, unknown> = { ...a };
  for (const keyword of Object.keys(b)) {
    if (b[keyword] === undefined) continue;
    merged[keyword] = a[keyword] === undefined ? b[keyword] : mergeKeyword(keyword, a, b, at);
  }
  if (a.properties !== undefined || b.properties !== undefined) {
    merged.properties = mergeProperties(a, b, at);
  }
  if (a.prefixItems !== undefined || b.prefixItems !== undefined) {
    merged.prefixItems = mergeItems(a, b, at);
  }
  const isImpossible = ['type', 'enum'].some(
    (keyword) => Array.isArray(merged[keyword]) && merged[keyword].length === 0,
  );
  return isImpossible ? undefined : merged;
}

/** Refuses cases in which one schema's property names may match the patterns of the other. */
function checkPatternProperties(a: SchemaObject, b: SchemaObject, at: string): void {
  const speaks = (schema: SchemaObject) =>
    ['properties', 'additionalProperties', 'patternProperties'].some(
      (keyword) => schema[keyword] !== undefined,
    );
  const has = [a, b].some(({ patternProperties }) => patternProperties !== undefined);
  if (!has || !speaks(a) || !speaks(b)) return;
  const message = '"patternProperties" beside another schema of the object is not supported';
  throw schemaError(at, message);
}

function mergeKeyword(keyword: string, a: SchemaObject, b: SchemaObject, at: string): unknown {
  switch (keyword) {
    case 'type':
      return commonTypes(typesOf(a, at), typesOf(b, at));
    case 'enum': {
      const others = new Set(listOf(b, 'enum', at).map(spelled));
      return listOf(a, 'enum', at).filter((value) => others.has(spelled(value)));
    }
    case 'required':
      return [...new Set([...requiredOf(a, at), ...requiredOf(b, at)])];
    case 'additionalProperties':
    case 'propertyNames':
    case 'items':
      return both(a[keyword], b[keyword]);
    case 'minimum':
    case 'exclusiveMinimum':
      return Math.max(numberOf(a, keyword, at) ?? 0, numberOf(b, keyword, at) ?? 0);
    case 'maximum':
    case 'exclusiveMaximum':
      return Math.min(numberOf(a, keyword, at) ?? 0, numberOf(b, keyword, at) ?? 0);
    case 'minItems':
    case 'minLength':
      return Math.max(countOf(a, keyword, at) ?? 0, countOf(b, keyword, at) ?? 0);
    case 'maxItems':
    case 'maxLength':
      return Math.min(countOf(a, keyword, at) ?? 0, countOf(b, keyword, at) ?? 0);
    case 'pattern':
    case 'format': {
      const texts = new Set([...textsOf(a, keyword, at), ...textsOf(b, keyword, at)]);
      return new Several([...texts]);
    }
    case 'multipleOf':
      return commonMultiple(numberOf(a, keyword, at) ?? 1, numberOf(b, keyword, at) ?? 1, at);
    default:
      return a[keyword];
  }
}

/** The values of a keyword that merged schemas require together. */
class Several {
  constructor(readonly texts: readonly string[]) {}
}

/** Returns the values of a keyword that may have been merged. */
export function textsOf(schema: SchemaObject, keyword: string, at: string): readonly string[] {
  const value = schema[keyword];
  if (value instanceof Several) return value.texts;
  const text = textOf(schema, keyword, at);
  return text === undefined ? [] : [text];
}

/** Returns the least number that is a multiple of both. */
function commonMultiple(a: number, b: number, at: string): number {
  const nDecimals = Math.max(...[a, b].map((x) => (String(x).split('.')[1] ?? '').length));
  const [x, y] = [a, b].map((value) => Math.round(value * 10 ** nDecimals)) as [number, number];
  let [divisor, rest] = [x, y];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  const multiple = (x / divisor) * y;
  if (Number.isSafeInteger(multiple) && divisor > 0 && !`${String(a)}${String(b)}`.includes('e')) {
    return multiple / 10 ** nDecimals;
  }
  throw schemaError(at, `multiples of both ${String(a)} and ${String(b)} are not supported`);
}

function commonTypes(a: string[], b: string[]): string[] {
  const includes = (types: string[], type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...a, ...b])].filter((type) => includes(a, type) && includes(b, type));
}

/** If one schema does not name a property, its `additionalProperties` apply to that property. */
function mergeProperties(a: SchemaObject, b: SchemaObject, at: string): SchemaObject {
  const [ofA, ofB] = [propertiesOf(a, at), propertiesOf(b, at)];
  const names = new Set([...Object.keys(ofA), ...Object.keys(ofB)]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      both(
        Object.hasOwn(ofA, name) ? ofA[name] : a.additionalProperties,
        Object.hasOwn(ofB, name) ? ofB[name] : b.additionalProperties,
      ),
    ]),
  );
}

function mergeItems(a: SchemaObject, b: SchemaObject, at: string): unknown[] {
  const [ofA, ofB] = [a, b].map((schema) =>
    schema.prefixItems === undefined ? [] : listOf(schema, 'prefixItems', at),
  ) as [unknown[], unknown[]];
  const n = Math.max(ofA.length, ofB.length);
  return Array.from({ length: n }, (_, i) =>
    both(i < ofA.length ? ofA[i] : a.items, i < ofB.length ? ofB[i] : b.items),
  );
}

/** Returns a schema that requires both. Undefined requires nothing. */
function both(a: unknown, b: unknown): unknown {
  if (a === undefined || a === true) return b ?? true;
  if (b === undefined || b === true || spelled(a) === spelled(b)) return a;
  return { allOf: [a, b] };
}

/** Returns true if no value is valid under both; false also if that is not known. */
export function areApart(
  a: SchemaObject,
  b: SchemaObject,
  at: string,
  variants: (schema: unknown, at: string) => SchemaObject[],
): boolean {
  const merged = merge(a, b, at);
  if (!merged) return true;
  const isObject = spelled(merged.type) === '["object"]' || merged.type === 'object';
  if (!isObject) return false;
  const properties = propertiesOf(merged, at);
  // Look for a required property for which no value is valid under both schemas.
  return requiredOf(merged, at).some((name) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : merged.additionalProperties;
    return schema !== undefined && variants(schema, below(at, 'properties', name)).length === 0;
  });
}

// The supported part of JSON Schema (draft 2020-12), and functions that read keywords.
import { KingletError } from '../errors.ts';

export type SchemaObject = Readonly<Record<string, unknown>>;

/** A value that was checked to be an object or a boolean. Its contents are not checked. */
export type Schema = boolean | SchemaObject;

export const typeNames = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** Keywords by the type of value to which they apply. */
export const keywordsOf = {
  object: [
    ...['properties', 'required', 'additionalProperties', 'propertyNames'],
    'patternProperties',
  ],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

const combining = ['$ref', 'allOf', 'anyOf', 'oneOf'];
const supported = new Set(['type', 'enum', 'const', combining, Object.values(keywordsOf)].flat(2));
/** Keywords that do not affect which values are valid. */
const annotations = new Set([
  ...['$schema', '$id', '$anchor', '$comment', '$defs', 'definitions', 'title', 'description'],
  ...['default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['contentEncoding', 'contentMediaType'],
  // OpenAPI's, as Pydantic writes it: "oneOf" says the same.
  'discriminator',
]);

/** `at`: the place in the schema, such as "#/properties/name". */
export function schemaError(at: string, message: string): KingletError {
  return new KingletError('invalid_argument', `jsonSchema, at ${at}: ${message}`);
}

/** The most properties of an object, and of all objects of a schema. */
const mostProperties = 2000;
const mostPropertiesInAll = 5000;

interface Place {
  value: unknown;
  keyword: string;
  /** Undefined for the whole schema. */
  parent: Place | undefined;
}

/** Refuses a schema whose conversion would take seconds, in which a page could do nothing else. */
export function checkSize(schema: unknown): void {
  const seen = new Set<unknown>();
  const todo: Place[] = [{ value: schema, keyword: '#', parent: undefined }];
  let nInAll = 0;
  for (let place = todo.pop(); place; place = todo.pop()) {
    const { value } = place;
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const [keyword, content] of Object.entries(value) as [string, unknown][]) {
      todo.push({ value: content, keyword, parent: place });
      if (!countedKeywords.has(keyword) || typeof content !== 'object') continue;
      const n = Object.keys(content ?? {}).length;
      if (n > mostProperties) {
        const most = String(mostProperties);
        const message = `"${keyword}" has ${String(n)} members, expected ${most} at most`;
        throw schemaError(pointerTo(place), message);
      }
      if (keyword !== 'required') nInAll += n;
      if (nInAll > mostPropertiesInAll) {
        const most = String(mostPropertiesInAll);
        const message = `the schema has more than ${most} properties in all`;
        throw schemaError(pointerTo(place), message);
      }
    }
  }
}

/** Made only for an error: in a deeply nested schema, all pointers together are very long. */
function pointerTo(place: Place): string {
  const keywords: string[] = [];
  for (let at: Place | undefined = place; at; at = at.parent) keywords.unshift(at.keyword);
  return keywords.reduce((at, keyword) => below(at, keyword));
}

const countedKeywords = new Set(['properties', 'patternProperties', 'required']);

/**
 * Refuses unknown keywords. The returned `keywords` are those that affect which values are valid.
 */
export function checkedSchema(value: unknown, at: string): { schema: Schema; keywords: string[] } {
  if (typeof value === 'boolean') return { schema: value, keywords: [] };
  if (!isObject(value)) throw schemaError(at, `found ${spelled(value)}, expected a schema`);
  const keywords: string[] = [];
  for (const [keyword, content] of Object.entries(value)) {
    if (content === undefined || (keyword === 'uniqueItems' && content === false)) continue;
    if (keyword === 'not' && isAnything(content)) return { schema: false, keywords: [] };
    if (keyword === 'not' && content === false) continue;
    if (supported.has(keyword)) keywords.push(keyword);
    else if (!annotations.has(keyword)) throw schemaError(at, `"${keyword}" is not supported`);
    else if (keyword === '$id' && at !== '#') {
      throw schemaError(at, '"$id" is only supported at the top');
    }
  }
  return { schema: value, keywords };
}

function isAnything(schema: unknown): boolean {
  return schema === true || (isObject(schema) && Object.keys(schema).length === 0);
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a keyword's list of schemas or values. */
export function listOf(schema: SchemaObject, keyword: string, at: string): unknown[] {
  const value = schema[keyword];
  if (Array.isArray(value)) return value;
  throw schemaError(at, `"${keyword}" is ${spelled(value)}, expected a list`);
}

export function propertiesOf(schema: SchemaObject, at: string): SchemaObject {
  return objectOf(schema, 'properties', at);
}

/** Returns the schemas by patterns of property names. */
export function patternPropertiesOf(schema: SchemaObject, at: string): SchemaObject {
  return objectOf(schema, 'patternProperties', at);
}

function objectOf(schema: SchemaObject, keyword: string, at: string): SchemaObject {
  const value = schema[keyword] ?? {};
  if (isObject(value)) return value;
  throw schemaError(at, `"${keyword}" is ${spelled(value)}, expected an object`);
}

export function requiredOf(schema: SchemaObject, at: string): string[] {
  if (schema.required === undefined) return [];
  const names = listOf(schema, 'required', at);
  if (names.every((name) => typeof name === 'string')) return names;
  throw schemaError(at, '"required" is not a list of names');
}

export function typesOf(schema: SchemaObject, at: string): string[] {
  const value = schema.type;
  const types: unknown[] = Array.isArray(value) ? value : [value];
  return types.map((type) => {
    if (typeof type === 'string' && typeNames.includes(type)) return type;
    throw schemaError(
      at,
      `the type ${spelled(type)} is unknown; it is one of ${typeNames.join(', ')}`,
    );
  });
}

/** Returns undefined if the keyword is absent. */
export function numberOf(schema: SchemaObject, keyword: string, at: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
  throw schemaError(at, `"${keyword}" is ${spelled(value)}, expected a number`);
}

export function countOf(schema: SchemaObject, keyword: string, at: string): number | undefined {
  const value = numberOf(schema, keyword, at);
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  throw schemaError(at, `"${keyword}" is ${String(value)}, expected a whole number from 0 on`);
}

export function textOf(schema: SchemaObject, keyword: string, at: string): string | undefined {
  const value = schema[keyword];
  if (value === undefined || typeof value === 'string') return value;
  throw schemaError(at, `"${keyword}" is ${spelled(value)}, expected a string`);
}

/** Returns a place below another, as a JSON pointer. */
export function below(at: string, ...keys: (string | number)[]): string {
  const escaped = keys.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'));
  return [at, ...escaped].join('/');
}

/** Writes a value as JSON in such a way that equal values give equal texts. */
export function spelled(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(byKey)) : inner,
  ) as string | undefined;
  return text ?? typeof value;
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

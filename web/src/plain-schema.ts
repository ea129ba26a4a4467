import { KingletError } from './errors.ts';

/** What validators' objects have in common: see https://standardschema.dev. */
interface StandardSchema {
  '~standard': {
    vendor: string;
    jsonSchema?: { input(options: { target: string }): unknown };
  };
}

/**
 * Returns the JSON schema of a validator's object, such as Zod's. Other schemas are returned as they
 * are.
 *
 * @throws KingletError `invalid_argument` if the object does not tell its JSON schema.
 */
export function plainSchema(schema: unknown): unknown {
  const standard = (schema as Partial<StandardSchema> | null | undefined)?.['~standard'];
  if (!standard) return schema;
  if (standard.jsonSchema) return closed(standard.jsonSchema.input({ target: 'draft-2020-12' }));
  throw new KingletError(
    'invalid_argument',
    `the jsonSchema is an object of ${standard.vendor}, which does not say its JSON schema: convert ` +
      'it, or take a newer version',
  );
}

const listsOfSchemas = ['anyOf', 'oneOf', 'prefixItems'];
const mapsOfSchemas = ['properties', '$defs', 'definitions'];

/**
 * Returns the schema without properties that it does not name, where it says nothing of others:
 * validators ignore them, but small models would write one after the other.
 */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(
    ([key, value]: [string, unknown]): [string, unknown] => {
      if (listsOfSchemas.includes(key) && Array.isArray(value))
        return [key, value.map((one) => closed(one))];
      if (key === 'items' || key === 'additionalProperties') return [key, closed(value)];
      if (!mapsOfSchemas.includes(key)) return [key, value];
      const schemas = Object.entries(value as object).map(([name, inner]) => [name, closed(inner)]);
      return [key, Object.fromEntries(schemas)];
    },
  );
  const isOpen = 'properties' in schema && !('additionalProperties' in schema);
  if (isOpen && !('allOf' in schema)) entries.push(['additionalProperties', false]);
  return Object.fromEntries(entries);
}

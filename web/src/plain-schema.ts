import { KingletError } from './errors.ts';

/** What validators' objects have in common: see https://standardschema.dev. */
interface StandardSchema {
  '~standard': {
    vendor: string;
    jsonSchema?: { input(options: { target: string }): unknown };
  };
}

/**
 * Returns the JSON schema of a validator's object, such as Zod's. Other values are returned as they
 * are.
 *
 * @throws KingletError `invalid_argument` if the object does not tell its JSON schema.
 */
export function plainSchema(schema: unknown): unknown {
  const standard = (schema as Partial<StandardSchema> | null | undefined)?.['~standard'];
  if (!standard) return schema;
  if (standard.jsonSchema) return standard.jsonSchema.input({ target: 'draft-2020-12' });
  throw new KingletError(
    'invalid_argument',
    `an object of ${standard.vendor} cannot convert itself to a JSON schema: convert it, or use a ` +
      'newer version',
  );
}

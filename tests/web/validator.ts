// Checks values against a schema with another implementation.
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: false, multipleOfPrecision: 9 });
addFormats(ajv);

export function validator(schema: unknown): (value: unknown) => boolean {
  const validate = ajv.compile(schema as object | boolean);
  return (value) => validate(value);
}

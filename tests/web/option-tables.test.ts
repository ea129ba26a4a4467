// The tables of options that the package can use without an engine.
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import * as tables from '../../web/src/option-tables.generated.ts';
import { root } from './support.ts';

it('are those of the core', () => {
  const program = `${root}build/native/tests/kinglet_option_tables`;
  const ofCore: unknown = JSON.parse(execFileSync(program, { encoding: 'utf8' }));
  expect({ ...tables }, 'they differ: run `npm run generate:options`').toEqual(ofCore);
});

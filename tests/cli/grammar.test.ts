// Answers of the desktop program that must match a grammar or a JSON schema.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { program, stories } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function fileOf(text: string): string {
  const path = join(folder, 'given');
  writeFileSync(path, text);
  return path;
}

function generate(path: string, options: string[] = [], option = '--grammar') {
  const args = ['generate', '-m', stories, '-p', 'Once upon a time', option, path];
  const { status, stdout, stderr } = spawnSync(program, [...args, ...options], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('the answer matches the grammar', () => {
  const { status, stdout } = generate(fileOf('root ::= ", " ("yes" | "no") " " [0-9]{3}'), [
    '--temp',
    '9',
  ]);
  expect(stdout).toMatch(/^, (yes|no) [0-9]{3}\n$/);
  expect(status).toBe(0);
});

test('a wrong grammar is refused with line and column', () => {
  const { status, stdout, stderr } = generate(fileOf('root ::= "a"\n  list ::= root | listt'));
  expect(stderr).toBe('kinglet: line 2, column 19 of the grammar: rule "listt" is not defined\n');
  expect(stdout).toBe('');
  expect(status).toBe(1);
});

test('a grammar that is not there is an error', () => {
  const missing = join(folder, 'missing.gbnf');
  const { status, stderr } = generate(missing);
  expect(stderr).toBe(`kinglet: cannot open ${missing}: No such file or directory\n`);
  expect(status).toBe(1);
});

test('the answer is valid under the schema, whose objects are closed', () => {
  const schema = { properties: { a: { enum: ['yes', 'no'] } }, required: ['a'] };
  const path = fileOf(JSON.stringify(schema));
  const { status, stdout } = generate(path, ['--temp', '9'], '--schema');
  expect(stdout).toMatch(/^\{"a":"(yes|no)"\}\n$/);
  expect(status).toBe(0);
  const seeds = ['1', '2', '3', '4', '5', '6'].map((seed) => ['--temp', '99', '--seed', seed]);
  const texts = seeds.map(
    (seed) => generate(path, [...seed, '-n', '20', '--open-objects'], '--schema').stdout,
  );
  expect(texts.some((text) => /^\{"a":"(yes|no)","/.test(text))).toBe(true);
});

test('a schema that is not supported is refused by name', () => {
  const { status, stderr } = generate(fileOf('{"$dynamicRef":"#"}'), [], '--schema');
  expect(stderr).toBe('kinglet: the JSON schema, at #: "$dynamicRef" is not supported\n');
  expect(status).toBe(1);
});

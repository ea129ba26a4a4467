// Answers of the desktop program that must match a grammar.
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

function grammarFile(grammar: string): string {
  const path = join(folder, 'grammar.gbnf');
  writeFileSync(path, grammar);
  return path;
}

function generate(path: string, options: string[] = []) {
  const args = ['generate', '-m', stories, '-p', 'Once upon a time', '--grammar', path];
  const { status, stdout, stderr } = spawnSync(program, [...args, ...options], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('the answer matches the grammar', () => {
  const { status, stdout } = generate(grammarFile('root ::= ", " ("yes" | "no") " " [0-9]{3}'), [
    '--temp',
    '9',
  ]);
  expect(stdout).toMatch(/^, (yes|no) [0-9]{3}\n$/);
  expect(status).toBe(0);
});

test('a wrong grammar is refused with line and column', () => {
  const { status, stdout, stderr } = generate(grammarFile('root ::= "a"\n  list ::= root | listt'));
  expect(stderr).toBe('kinglet: line 2, column 19 of the grammar: there is no rule "listt"\n');
  expect(stdout).toBe('');
  expect(status).toBe(1);
});

test('a grammar that is not there is an error', () => {
  const missing = join(folder, 'missing.gbnf');
  const { status, stderr } = generate(missing);
  expect(stderr).toBe(`kinglet: cannot open ${missing}\n`);
  expect(status).toBe(1);
});

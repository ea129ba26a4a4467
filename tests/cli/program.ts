// The desktop program, and the files that its tests use.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The path of a program that was built for another machine: see scripts/cross.mjs. */
const crossBuilt = process.env.KINGLET_PROGRAM;
export const isCrossBuilt = crossBuilt !== undefined;
export const program = crossBuilt ?? join(root, 'build/native/kinglet');
export const stories = join(root, 'demo/models/kinglet-stories-5m-Q4_0.gguf');
export const fixture = (name: string) => join(root, 'tests/fixtures', name);

export function kinglet(args: string[], input: string | Buffer = '') {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    input,
    maxBuffer: 1 << 28,
  });
  return { status, stdout, stderr };
}

/** Expects status 1, no standard output, and one line of standard error that says why. */
export function expectFailure(args: string[], message: RegExp, input: string | Buffer = '') {
  const { status, stdout, stderr } = kinglet(args, input);
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
}

/** What `kinglet logprobs` prints. */
export interface Logprobs {
  tokens: number[];
  positions: { position: number; argmax: number; logprobs: number[] }[];
  greedy?: number[];
}

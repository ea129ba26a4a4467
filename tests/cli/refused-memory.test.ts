// Wherever memory runs out, the program ends and reports it.
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { program, stories } from './program.ts';

/** Runs the program with limited address space; returns its status and standard error. */
function runIn(kilobytes: number, args: string[], input = '') {
  const limited = ['-c', 'ulimit -v $0; exec "$@"', String(kilobytes), program, ...args];
  const { status, stderr } = spawnSync('bash', limited, {
    ...{ encoding: 'utf8', input, maxBuffer: 1 << 28 },
  });
  return { status, stderr };
}

/** Returns the least address space in which the system can load the program and its libraries. */
function leastKilobytes(): number {
  let kilobytes = 8000;
  while (runIn(kilobytes, ['--help']).status !== 0) kilobytes += 1000;
  return kilobytes;
}

it.each([
  {
    name: 'a model is loaded and run',
    args: ['generate', '-m', stories, '-p', 'Once', '-n', '2', '--threads', '1', '--ctx', '64'],
    input: '',
    nRefusals: 3, // weights, cache, scratch memory
  },
  {
    name: 'a long text is read',
    args: ['tokenize', '-m', stories],
    input: 'Once upon a time. '.repeat(100_000),
    nRefusals: 2,
  },
])('where $name', ({ args, input, nRefusals }) => {
  const messages = new Set<string>();
  for (let kilobytes = leastKilobytes(); ; kilobytes += 200) {
    const { status, stderr } = runIn(kilobytes, args, input);
    if (status === 0) break;
    expect(status).toBe(1);
    expect(stderr).toMatch(/^kinglet: (\/.*: )?out of memory.*\n$/);
    messages.add(stderr);
  }
  expect(messages.size).toBeGreaterThanOrEqual(nRefusals);
});

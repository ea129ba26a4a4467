// Asks the engine's compiler of schemas which texts it allows.
import { spawnSync } from 'node:child_process';
import { root } from './support.ts';

interface Asked {
  schema: unknown;
  texts?: readonly string[];
  /** How many random texts to draw; those that do not end in time are left out. */
  draws?: number;
  seed?: number;
}

type Told = { error: string } | { error?: undefined; allowed: boolean[]; drawn: string[] };

/** Returns an answer to each question. */
export function askSchemas(questions: readonly Asked[]): Told[] {
  const { status, stdout } = spawnSync(`${root}build/native/tests/kinglet_schema_texts`, [], {
    input: questions
      .map((asked) => JSON.stringify({ texts: [], draws: 0, seed: 0, ...asked }) + '\n')
      .join(''),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`kinglet_schema_texts ended with ${String(status)}`);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Told);
}

/** Returns the answer to one question; throws if the schema is refused. */
export function askSchema(asked: Asked): Exclude<Told, { error: string }> {
  const [told] = askSchemas([asked]);
  if (told?.error !== undefined) throw new Error(told.error);
  return told!;
}

/** Returns numbers in [0, 1): the generator mulberry32 (T. Ettinger). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

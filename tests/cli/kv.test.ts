// The desktop program's options for the KV cache.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { expectFailure, kinglet, stories, type Logprobs } from './program.ts';

const kinds = ['f32', 'f16', 'int8', 'fp8_e4m3', 'fp8_e5m2', 'q8', 'q4'];
const greedy = ['generate', '-m', stories, '-p', 'Once upon a time', '--temp', '0'];
const story = (...more: string[]) => {
  const { status, stdout, stderr } = kinglet([...greedy, '-n', '60', ...more]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
};

describe('--kv', () => {
  const usual = story();

  test('takes each kind, and rounds no more than a story bears', () => {
    expect(story('--kv', 'auto')).toBe(usual);
    expect(story('--kv', 'q8')).toBe(usual);
    for (const kind of kinds) {
      expect(story('--kv', kind)).toContain(usual.slice(0, 40));
    }
  });

  test('takes a kind for keys and one for values, in any order', () => {
    const mixed = story('--kv', 'k=q8,v=q4');
    expect(story('--kv', 'v=q4,k=q8')).toBe(mixed);
    expect(story('--kv', 'k=auto')).toBe(usual);
    expect(story('--kv', 'k=q4')).toBe(story('--kv', 'k=q4,v=auto'));
    expect(story('--kv', 'k=q4,v=q4')).toBe(story('--kv', 'q4'));
    // Another kind of cache gives other probabilities, but seldom other words.
    const surprises = ['f32', 'k=q4', 'v=q4', 'q4'].map((kv) => logprobs('--kv', kv)[0]![0]);
    expect(new Set(surprises).size).toBe(4);
  });

  test('names what it does not know', () => {
    expectFailure(
      [...greedy, '--kv', 'int3'],
      /kind "int3" is unknown \(known: auto, f32, .*, q4\)/,
    );
    expectFailure([...greedy, '--kv', 'k=Q8'], /kind "Q8" is unknown/);
    expectFailure([...greedy, '--kv', 'k=q8,v='], /kind "" is unknown/);
    expectFailure([...greedy, '--kv', 'x=q8'], /found "x=q8", expected KIND or k=KIND,v=KIND/);
  });
});

describe('--kv-page', () => {
  test('changes where the cache stands, not what it says', () => {
    for (const kind of kinds) {
      expect(logprobs('--kv', kind, '--kv-page', '64')).toEqual(logprobs('--kv', kind));
    }
    expect(story('--kv-page', '1').slice(0, 60)).toBe(story().slice(0, 60));
    // A page is never longer than the context.
    expect(story('--kv-page', '4000000000')).toBe(story());
  });

  test('is a number', () => {
    expect(kinglet([...greedy, '--kv-page', 'big'])).toMatchObject({ status: 1, stdout: '' });
    expect(kinglet([...greedy, '--kv-page', '-1'])).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('a full context', () => {
  const small = [...greedy, '--ctx', '32'];
  const nTokens = (text: string) =>
    kinglet(['tokenize', '-m', stories], text.trimEnd()).stdout.trim().split(' ').length;

  test('ends the text, or with --shift does not', () => {
    const ended = kinglet([...small, '-n', '100']);
    expect(ended.status).toBe(0);
    expect(nTokens(ended.stdout)).toBeLessThan(32);
    for (const options of [
      [],
      ['--keep', '5'],
      ['--keep', '31'],
      ['--kv', 'int8'],
      ['--kv-page', '8'],
    ]) {
      const shifted = kinglet([...small, '-n', '100', '--shift', ...options]);
      expect(shifted).toMatchObject({ status: 0, stderr: '' });
      expect(nTokens(shifted.stdout)).toBeGreaterThan(60);
      expect(shifted.stdout.startsWith(ended.stdout.trimEnd())).toBe(true);
    }
  });

  test('cannot keep more than there is', () => {
    expectFailure([...small, '--shift', '--keep', '32'], /keep the first 32 tokens.*only 32/);
  });
});

const words = ['girl', 'dog', 'bird', 'boy', 'cat', 'tree', 'ball', 'fish'];
const text = words.map((word) => `Once there was a little ${word}. It was very happy.`).join(' ');

/** Returns log probabilities at some positions of a story. */
function logprobs(...more: string[]): number[][] {
  const ids = kinglet(['tokenize', '-m', stories, '--bos', '--text', text]).stdout.trim();
  const tokens = ids.split(' ');
  const positions = tokens.map((_, i) => i).slice(40, 44);
  const { stdout } = kinglet([
    ...['logprobs', '-m', stories, '--tokens', tokens.join(','), ...more],
    ...['--positions', positions.join(',')],
  ]);
  return (JSON.parse(stdout) as Logprobs).positions.map(({ logprobs }) => logprobs);
}

describe('perplexity', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, 'stories.txt');
  writeFileSync(path, text);
  const perplexity = (...more: string[]) => {
    const args = ['perplexity', '-m', stories, '-f', path, '--ctx', '32', ...more];
    return JSON.parse(kinglet(args).stdout) as {
      perplexity: number;
      windows: number;
      window_tokens: number;
      counted: number;
    };
  };

  test('is that of the second half of each window, after BOS', () => {
    const { stdout } = kinglet(['tokenize', '-m', stories, '--bos', '--text', text]);
    const tokens = stdout.trim().split(' ').map(Number);
    const nWindows = Math.floor(tokens.length / 32);
    let sum = 0;
    for (let i = 0; i < nWindows; ++i) {
      const window = tokens.slice(32 * i, 32 * (i + 1));
      window[0] = 1;
      const positions = window.map((_, p) => p).slice(16, 31);
      const answer = kinglet([
        ...['logprobs', '-m', stories, '--tokens', window.join(',')],
        ...['--positions', positions.join(',')],
      ]);
      for (const { position, logprobs } of (JSON.parse(answer.stdout) as Logprobs).positions) {
        sum -= logprobs[window[position + 1]!]!;
      }
    }
    const { perplexity: found, ...counts } = perplexity();
    expect(counts).toEqual({ windows: nWindows, window_tokens: 32, counted: 15 * nWindows });
    // The command reads windows in other batches than `logprobs`, so activations round differently.
    expect(found).toBeCloseTo(Math.exp(sum / (15 * nWindows)), 1);
  });

  test('hardly rises with the kind of the cache', () => {
    const f32 = perplexity('--kv', 'f32').perplexity;
    for (const kind of kinds) {
      expect(Math.abs(perplexity('--kv', kind).perplexity / f32 - 1)).toBeLessThan(0.05);
    }
  });

  test('needs a text of at least one window', () => {
    const args = ['perplexity', '-m', stories, '-f', path];
    expectFailure([...args, '--ctx', '512'], /the text has \d+ tokens.*one window of 512/);
    expectFailure([...args, '--ctx', '3'], /--ctx is 3, expected at least 4/);
    expectFailure(['perplexity', '-m', stories, '-f', join(folder, 'none')], /none/);
  });
});

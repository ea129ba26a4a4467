import { describe, expect, it } from 'vitest';
import { drawKv } from '../../bench/kv-plot.mjs';
import { describeFork, kvTables } from '../../bench/kv-report.mjs';

const fork = {
  kv: 'int8',
  positions: 2000,
  pagePositions: 32,
  pages: 63,
  forkMicroseconds: 5.2,
  forks: 64,
  written: 16,
  pagesMore: 64,
};
const report = {
  machine: 'A machine',
  fork,
  models: {
    'smollm2-135m': {
      title: 'Large',
      quality: { greedyTokens: 256 },
      kinds: {
        f32: {
          bytesPerToken: 46080,
          compression: 1,
          perplexity: 4,
          sameTokens: 256,
          native: {
            128: { prefill: 900, decode: 200.4 },
            2048: { prefill: 700, decode: 120 },
          },
          chromium: { 2048: { prefill: 300, decode: 50 } },
        },
        int8: {
          bytesPerToken: 12240,
          compression: 46080 / 12240,
          perplexity: 3.998,
          sameTokens: 31,
          native: { 2048: { prefill: 710, decode: 240 } },
        },
      },
    },
    'kinglet-stories-5m': {
      title: 'Small',
      kinds: { f32: { perplexity: 4 }, int8: { perplexity: 4.002 } },
    },
  },
};

describe('the report on KV caches', () => {
  const rows = kvTables(report)
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' '));

  it('sets memory and quality against F32', () => {
    expect(rows).toContain('| `f32` | 46,080 | 1.00 | 4.00000 | | all 256 |');
    expect(rows).toContain('| `int8` | 12,240 | 3.76 | 3.99800 | −0.050 % | 31 |');
  });

  it('gives each place and context a column, empty where nothing was measured', () => {
    expect(rows).toContain('| kind | native, 128 | native, 2048 | Chromium, 2048 |');
    expect(rows).toContain('| `f32` | 900 / 200 | 700 / 120 | 300 / 50 |');
    expect(rows).toContain('| `int8` | | 710 / 240 | |');
  });

  it('leaves out the speeds of a model that has none', () => {
    expect(rows.filter((row) => row.startsWith('| kind | native'))).toHaveLength(1);
  });

  it('tells what a fork costs', () => {
    expect(describeFork(fork)).toBe(
      'A session of 2,000 tokens, `int8` in pages of 32, forks in 5 µs; 64 forks that write 16 ' +
        'tokens each take 64 pages beside its 63.',
    );
  });

  it('draws bars in proportion, at the longest context', () => {
    const svg = drawKv(report);
    const widths = [...svg.matchAll(/<rect x="[^"]+" y="\d+" width="([\d.]+)"/g)].map(widthOf);
    const [f32Bytes, int8Bytes, , , f32Speed, int8Speed] = widths;
    expect(int8Bytes! / f32Bytes!).toBeCloseTo(12240 / 46080, 2);
    expect(f32Speed! / int8Speed!).toBeCloseTo(0.5, 2);
    expect(svg).toContain('>+0.050<');
    expect(svg).toContain('tokens/s at 2048');
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('draws what little there is', () => {
    expect(drawKv({ machine: '', models: {} })).not.toMatch(/NaN|undefined|Infinity/);
  });
});

function widthOf([, text]: RegExpExecArray): number {
  return Number(text);
}

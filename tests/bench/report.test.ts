import { describe, expect, it } from 'vitest';
import { describe as describeSpeed, shortTable } from '../../bench/report.mjs';
import { markdownTable, median } from '../../bench/table.mjs';

// A model whose layers take 900 million multiply-adds and 500 MB. Its logits take 100 million
// multiply-adds and 100 MB.
const model = {
  shape: 'tiny',
  type: 'Q4_0',
  work: {
    layers: { multiplyAdds: 900e6, bytes: 500e6 },
    output: { multiplyAdds: 100e6, bytes: 100e6 },
  },
};
const speed = {
  kernels: 'simd128',
  threads: 1,
  prefill128: [40],
  prefill512: [90, 100, 130],
  decode64: [10, 20],
};
const limit = { readGbS: 18, gmacS: { nibbles: 180, bytes: 90, floats: 45 } };

describe('what the benchmark reports', () => {
  it('sets decoding against the reads of all weights, logits included', () => {
    const result = describeSpeed({ where: 'native', model, speed, limit });
    expect(result.decodeGmacS).toBeCloseTo(15);
    expect(result.decodeGbS).toBeCloseTo(9);
    expect(result.shareOfReadLimit).toBeCloseTo(0.5);
  });

  it('sets the longest prompt against the multiply-adds, with logits once a prompt', () => {
    const result = describeSpeed({ where: 'native', model, speed, limit });
    expect(result.prefillGmacS).toBeCloseTo(100 * (0.9 + 0.1 / 512));
    expect(result.shareOfMultiplyLimit).toBeCloseTo(0.5, 2);
    const short = { ...speed, prefill512: [] };
    expect(describeSpeed({ where: 'native', model, speed: short, limit }).prefillGmacS).toBeCloseTo(
      40 * (0.9 + 0.1 / 128),
    );
  });

  it('takes the limit of the operands that the weight type is multiplied as', () => {
    for (const [type, gmacS] of Object.entries({ Q4_K_M: 180, Q8_0: 90, F16: 45 })) {
      const result = describeSpeed({ where: 'native', model: { ...model, type }, speed, limit });
      expect(result.limits).toEqual({ gmacS, readGbS: 18 });
    }
  });

  it('leaves shares out where no limit was measured', () => {
    const result = describeSpeed({ where: 'native', model, speed, limit: undefined });
    expect(result.shareOfReadLimit).toBeUndefined();
    expect(shortTable([result])).toContain('40 / 100 / 15');
  });

  it('has a row for each place and a column for each type', () => {
    const results = ['Q4_0', 'Q8_0'].map((type) =>
      describeSpeed({ where: 'native', model: { ...model, type }, speed, limit }),
    );
    expect(shortTable(results).split('\n')).toEqual([
      expect.stringMatching(/Q4_0 +\| Q8_0 /),
      expect.stringMatching(/^\|-+\|-+\|-+\|$/),
      expect.stringMatching(/native, simd128, 1 thread \| 40 \/ 100 \/ 15 \(50 %, 50 %\) \| 40 /),
    ]);
  });
});

describe('a table', () => {
  it('pads its columns', () => {
    expect(markdownTable([{ a: 1, bc: 'def' }])).toBe('| a | bc  |\n|---|-----|\n| 1 | def |');
  });
});

describe('the median', () => {
  it('is the middle, or between the two in the middle', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, undefined]);
  });
});

import { describe, expect, it } from 'vitest';
import { onnxModel } from '../../bench/peers/onnx-model.js';
import { firstTokenRatios, shortRows, speedRatios, spread } from '../../bench/peers/tables.mjs';

const rounds = (row: object, ...values: object[]) => values.map((value) => ({ ...row, ...value }));

describe('the comparison with peers', () => {
  const model = { shape: 'smollm2-135m', type: 'Q4_0' };
  const speeds = [
    ...rounds(
      { ...model, name: 'chromium relaxed-simd' },
      { prefill: 300, decode: 90 },
      { prefill: 330, decode: 100 },
      { prefill: 400, decode: 120 },
    ),
    ...rounds(
      { ...model, name: 'wllama 2.3.1' },
      { prefill: 100, decode: 30 },
      { prefill: 100, decode: 20 },
      { prefill: 100, decode: 30 },
    ),
  ];
  const shape = { shape: 'qwen2.5-0.5b', type: 'Q4_0', bytes: 350e6 };
  const firstTokens = [
    ...rounds(
      { ...shape, name: 'chromium relaxed-simd', peakBytes: 500e6 },
      { firstToken: 1000, opening: 500, readingAlone: 250 },
      { firstToken: 900, opening: 400, readingAlone: 300 },
      { firstToken: 800, opening: 400, readingAlone: 320 },
    ),
    ...rounds(
      { ...shape, name: 'wllama 2.3.1', peakBytes: 1000e6 },
      { firstToken: 9000 },
      { firstToken: 9000 },
      { firstToken: 4000 },
    ),
  ];

  it('takes the spread of rounds by their median', () => {
    expect(spread([2, 1, 3])).toBe(1);
    expect(spread([5, 5])).toBe(0);
  });

  it('compares the engines of each round, beside targets for one thread', () => {
    expect(speedRatios(speeds, 1)).toMatchObject([
      { kind: 'decode', ratio: 4, target: 3, spreads: [0.3, 1 / 3] },
      { kind: 'prefill', ratio: 3.3, spreads: [100 / 330, 0] },
    ]);
    expect(speedRatios(speeds, 2)).toMatchObject([{ target: undefined }, { target: undefined }]);
  });

  it('has ratios of times that grow as this project gets faster', () => {
    expect(firstTokenRatios(firstTokens)).toMatchObject([
      { kind: 'first token', peer: 'wllama 2.3.1', ratio: 9, target: 8 },
      { kind: 'opening', ratio: 0.75, target: 0.6 },
    ]);
  });

  it('tells the most important numbers in few rows', () => {
    expect(shortRows({ speeds, firstTokens })).toMatchObject([
      { 'this project': '330', 'wllama 2.3.1': '100 (3.3 ×)' },
      { 'this project': '100', 'wllama 2.3.1': '30.0 (4.0 ×)' },
      { 'this project': '0.90', 'wllama 2.3.1': '9.00 (9.0 ×)' },
      { 'this project': '500', 'wllama 2.3.1': '1000 (2.0 ×)' },
    ]);
  });
});

describe('the ONNX model of products', () => {
  it.each([
    [4, (32 * 64) / 2 + (32 * 64 * 4) / 32],
    [8, 32 * 64],
  ])('of %i bits holds its matrices and a graph for them', (bits, bytes) => {
    const model = onnxModel({ bits, nMatrices: 3, nRows: 32, nColumns: 64 });
    expect(model[0]).toBe(8); // field 1, a number: the IR version
    expect(model.length).toBeGreaterThan(3 * bytes);
    expect(model.length).toBeLessThan(3 * bytes + 1000);
    const text = Buffer.from(model).toString('latin1');
    expect(text).toContain(bits === 4 ? 'MatMulNBits' : 'MatMulInteger');
    for (const output of ['y0', 'y1', 'y2']) expect(text).toContain(output);
  });
});

import { describe, expect, it } from 'vitest';
import { embedTexts, measureEmbedding } from '../../bench/embed-texts.js';
import { onnxModel } from '../../bench/peers/onnx-model.js';
import {
  embedRatios,
  firstTokenRatios,
  pictureRatios,
  pictureSection,
  productSection,
  shortRows,
  speedRatios,
  spread,
} from '../../bench/peers/tables.mjs';

const rounds = (row: object, ...values: object[]) => values.map((value) => ({ ...row, ...value }));

describe('the comparison with peers', () => {
  const model = { shape: 'smollm2-135m', type: 'Q4_0', nPrompt: 128 };
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
    const without = [{ target: undefined }, { target: undefined }];
    expect(speedRatios(speeds, 2)).toMatchObject(without);
    const long = speeds.map((speed) => ({ ...speed, nPrompt: 1536 }));
    expect(speedRatios([...speeds, ...long], 1)).toMatchObject([{ target: 3 }, {}, ...without]);
  });

  it('has ratios of times that grow as this project gets faster', () => {
    expect(firstTokenRatios(firstTokens)).toMatchObject([
      { kind: 'first token', peer: 'wllama 2.3.1', ratio: 9, target: 8 },
      { kind: 'opening', ratio: 0.75, target: 0.6 },
    ]);
  });

  const embeddings = [
    ...rounds(
      { shape: 'minilm-l6', type: 'Q8_0', name: 'native' },
      { passages: 30, queries: 600 },
      { passages: 40, queries: 900 },
    ),
    ...rounds(
      { shape: 'minilm-l6', type: 'Q8_0', name: 'llama.cpp' },
      { passages: 20, queries: 200 },
      { passages: 20, queries: 300 },
    ),
  ];

  it('compares embeddings of passages and of queries', () => {
    expect(embedRatios(embeddings, 1)).toMatchObject([
      { kind: 'passages', ours: 'native', peer: 'llama.cpp', ratio: 1.75, target: 1.5 },
      { kind: 'queries', ratio: 3, target: 1.5 },
    ]);
    expect(embedRatios(embeddings, 2)).toMatchObject([{ target: undefined }, {}]);
  });

  const seeing = { shape: 'smolvlm-256m', type: 'Q8_0' };
  const pictures = [
    ...rounds(
      { ...seeing, name: 'chromium relaxed-simd', nTokens: 134, peakBytes: 450e6 },
      { picture: 4000, seeing: 3000 },
      { picture: 5000, seeing: 3500 },
      { picture: 8000, seeing: 6000 },
    ),
    ...rounds(
      { ...seeing, name: 'wllama 3.13.0', nTokens: 135, peakBytes: 550e6 },
      { picture: 60000 },
      { picture: 50000 },
      { picture: 40000 },
    ),
  ];

  it('compares what a picture costs', () => {
    expect(pictureRatios(pictures, 1)).toMatchObject([
      { kind: 'picture', ours: 'chromium relaxed-simd', ratio: 10, target: 8, spreads: [0.8, 0.4] },
    ]);
    expect(pictureRatios(pictures, 2)).toMatchObject([{ target: undefined }]);
    expect(pictureRatios(pictures.slice(3), 1)).toEqual([]);
    const [, engines = '', ratios] = pictureSection(pictures, 1);
    expect(engines).toMatch(/chromium relaxed-simd +\| 5\.00 \(80 %\) +\| 3\.50 +\| 134 +\| 450/);
    expect(engines).toMatch(/wllama 3\.13\.0 +\| 50\.00 \(40 %\) +\| +\| 135 +\| 550/);
    expect(ratios).toMatch(/10\.00 × .*≥ 8 × .*pass/);
  });

  it('judges only products that have a target', () => {
    const products = [2, undefined].flatMap((target, i) =>
      ['ours', 'peer'].map((name) => ({
        ...{ bits: 8, nTokens: 16 << i, nColumns: 384, nRows: 384, target, name },
        gmacS: name === 'ours' ? 30 : 10,
      })),
    );
    const table = productSection(products)[1] ?? '';
    expect(table.split('\n').map((row: string) => row.includes('pass'))).toEqual([
      ...[false, false],
      ...[true, false],
    ]);
  });

  it('tells the most important numbers in few rows', () => {
    const here = { ...embeddings[0], name: 'chromium relaxed-simd' };
    const none = { speeds: [], firstTokens: [], embeddings: [], pictures: [] };
    expect(shortRows({ ...none, embeddings: [here] })).toMatchObject([
      { 'this project': '30.0', 'wllama 3.13.0': '' },
    ]);
    expect(shortRows({ ...none, pictures })).toMatchObject([
      { 'this project': '5.00', 'wllama 3.13.0': '50.0 (10.0 ×)' },
    ]);
    expect(shortRows({ ...none, speeds, firstTokens })).toMatchObject([
      { 'this project': '330', 'wllama 2.3.1': '100 (3.3 ×)' },
      { 'this project': '100', 'wllama 2.3.1': '30.0 (4.0 ×)' },
      { 'this project': '0.90', 'wllama 2.3.1': '9.00 (9.0 ×)' },
      { 'this project': '500', 'wllama 2.3.1': '1000 (2.0 ×)' },
    ]);
  });
});

describe('texts to embed', () => {
  it.each([true, false])('have as many tokens as they should, words: %s', (words) => {
    const { passages, queries } = embedTexts({ words, nPassages: 16 });
    expect(passages.map(({ tokens }) => tokens.length)).toEqual(Array(16).fill(256));
    expect(queries.map(({ tokens }) => tokens.length)).toEqual(Array(32).fill(16));
    expect(new Set(passages.map(({ text }) => text)).size).toBe(16);
  });

  it('are spelled as their ids say', () => {
    for (const { text, tokens } of embedTexts({ words: true, nPassages: 1 }).queries) {
      const words = text.split(' ').map((word) => Number(word.slice(1)));
      expect(tokens).toEqual([101, ...words, 102]);
    }
  });

  it('are embedded together where they are passages, and else one by one', async () => {
    const calls: number[] = [];
    const speed = await measureEmbedding({ words: true, nPassages: 16 }, (texts: unknown[]) => {
      calls.push(texts.length);
      return Promise.resolve();
    });
    expect(calls.filter((n) => n === 16)).toHaveLength(1);
    expect(calls.filter((n) => n === 1)).toHaveLength(calls.length - 1);
    expect(speed.queries).toBeGreaterThan(0);
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

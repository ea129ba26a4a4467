// Embedding models and rerankers through the package: compared in Node with llama.cpp and the
// desktop program, and in each browser with Node.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Kinglet, similarity } from 'kinglet';
import { fixture, kinglet as program } from '../cli/program.ts';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { root } from './support.ts';

interface Answer {
  tokens: number[];
  pooling: string;
  embedding: number[];
}

const folder = join(root, 'tests/fixtures/encoder');
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.gguf'))
  .map((name) => name.replace('.gguf', ''));
const rerankers = names.filter((name) => name.includes('rerank'));
const embedders = names.filter((name) => !name.includes('rerank'));
const bytesOf = (name: string) => new Uint8Array(readFileSync(join(folder, `${name}.gguf`)));
const load = (name: string) => Kinglet.load(bytesOf(name), { nThreads: 1 });

const stories = join(root, 'demo/models/kinglet-stories-5m-Q4_0.gguf');
const storyBytes = new Uint8Array(readFileSync(stories));

const texts = ['a dog ran in the park', 'b', '', 'the sun and the rain '.repeat(2)];

/** Returns what the desktop program prints for each line. */
const lines = (args: string[], input: readonly string[]) =>
  program(args, `${input.join('\n')}\n`)
    .stdout.trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { embedding: number[]; score: number });

describe('an embedding model', () => {
  it.each(embedders)('answers as llama.cpp does: %s', async (name) => {
    const answer = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Answer;
    const model = await load(name);
    const [found] = await model.embed([answer.tokens], { normalize: false });
    expect(model.info).toMatchObject({ purpose: 'embeddings', pooling: answer.pooling });
    expect(model.info.embeddingSize).toBe(answer.embedding.length);
    expect(model.info.memory.kvBytes).toBe(0);
    expect(found).toHaveLength(answer.embedding.length);
    expect(similarity(found, answer.embedding)).toBeGreaterThan(
      name.includes('Q8_0') ? 0.999 : 0.9999,
    );
    model.dispose();
  });

  it.each(embedders)('has the marks and the numbers of the desktop program: %s', async (name) => {
    const model = await load(name);
    const native = lines(['embed', '-m', fixture(`encoder/${name}.gguf`), '--normalize'], texts);
    const found = await model.embed(texts);
    for (const [i, vector] of found.entries()) {
      expect(similarity(vector, native[i]!.embedding)).toBeGreaterThan(0.9999);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
      expect([...vector]).toEqual([...(await model.embed([texts[i]!]))[0]]); // bit for bit
    }
    model.dispose();
  });

  it('keeps the first dimensions, and takes a prompt', async () => {
    const model = await load('nomic-bert');
    const [whole] = await model.embed(['query: a dog'], { normalize: false });
    const options = { prompt: 'query: ', dimensions: 8 };
    const [cut] = await model.embed(['a dog'], options);
    expect(cut).toHaveLength(8);
    expect(similarity(cut, whole.slice(0, 8))).toBeCloseTo(1, 6);
    await expect(model.embed(['a'], { dimensions: 10_000 })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    model.dispose();
  });

  it('refuses text, scores and texts that are too long, in words, and goes on', async () => {
    const model = await load('bert');
    const refused = { code: 'unsupported_feature' };
    const { result } = model.generate('a');
    await expect(result).rejects.toMatchObject({
      ...refused,
      message: 'this bert model computes embeddings and cannot generate text: call embed()',
    });
    await expect(model.newSession()).rejects.toMatchObject(refused);
    await expect(model.chat([{ role: 'user', content: 'a' }]).result).rejects.toThrow();
    await expect(model.rerank('a', ['b'])).rejects.toMatchObject(refused);
    const long = 'a '.repeat(100);
    await expect(model.embed(['b', long])).rejects.toMatchObject({
      code: 'prompt_too_long',
      message: "text 1: the text has 102 tokens, but the model's context is 64",
    });
    expect(await model.embed([long], { truncate: true })).toHaveLength(1);
    await expect(model.embed([[1, 5000]])).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(model.embed([[]])).rejects.toThrow('text 0 has no tokens');
    expect(await model.embed(['a'])).toHaveLength(1);
    expect(await model.tokenize('a')).not.toEqual([]);
    model.dispose();
  });

  it('is not left with the memory of what was cancelled', async () => {
    const model = await load('gemma-embedding');
    const many = Array.from({ length: 10_000 }, (_, i) => `the text of number ${String(i)}`);
    const before = model.info.memory.heapBytes;
    for (let i = 0; i < 3; ++i) {
      const controller = new AbortController();
      const onProgress = ({ done }: { done: number }) => {
        if (done > 50) controller.abort('enough');
      };
      const { signal } = controller;
      await expect(model.embed(many, { signal, onProgress })).rejects.toBe('enough');
    }
    const [after] = await model.embed(['a']);
    expect(after).toEqual((await model.embed(['a']))[0]);
    expect(before).toBeGreaterThan(0);
    model.dispose();
  });
});

describe('a reranker', () => {
  it.each(rerankers)('scores as the desktop program: %s', async (name) => {
    const documents = ['a dog ran', 'the rain', 'b'];
    const model = await load(name);
    const path = fixture(`encoder/${name}.gguf`);
    const native = lines(['rerank', '-m', path, '--query', 'who ran'], documents);
    const found = await model.rerank('who ran', documents);
    expect(await model.rerank('who ran', [])).toEqual([]);
    expect(model.info).toMatchObject({ purpose: 'ranking', pooling: undefined });
    expect(found.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
    for (const { index, score } of found) expect(score).toBeCloseTo(native[index]!.score, 2);
    const scores = found.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(await model.rerank('who ran', documents, { topN: 2 })).toEqual(found.slice(0, 2));
    await expect(model.embed(['a'])).rejects.toMatchObject({ code: 'unsupported_feature' });
    model.dispose();
  });
});

describe('classify', () => {
  const loadStories = () => Kinglet.load(new Blob([storyBytes]), { nThreads: 1 });
  const labels = ['happy', 'very sad', 'a long day'];

  it('gives the probabilities of the desktop program', async () => {
    const model = await loadStories();
    const texts = ['Lily had a red ball.', 'Tom cried.', 'The sun was warm and bright.'];
    const done: number[] = [];
    const options = { instruction: 'How is it?', examples: [{ text: 'I smile.', label: 'happy' }] };
    const onProgress = (progress: { done: number }) => done.push(progress.done);
    const found = await model.classify(texts, labels, { ...options, onProgress });
    const given = ['--instruction', 'How is it?', '--example', 'happy=I smile.'];
    const wanted = labels.flatMap((label) => ['--label', label]);
    const expected = program(['classify', '-m', stories, ...given, ...wanted], texts.join('\n'))
      .stdout.trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { label: string; probabilities: Record<string, number> });
    expect(found).toHaveLength(3);
    expect(done).toEqual([...done].sort((a, b) => a - b));
    for (const [i, list] of found.entries()) {
      expect(list[0]!.label).toBe(expected[i]!.label);
      for (const { label, probability } of list) {
        // Kernel sets round activations differently.
        expect(Math.abs(probability - expected[i]!.probabilities[label]!)).toBeLessThan(0.02);
      }
      expect(list.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 5);
    }
    expect(await model.classify(texts[1]!, labels, options)).toEqual(found[1]);
    expect(await model.classify([], labels)).toEqual([]);
    expect(await model.embed([])).toEqual([]);
    model.dispose();
  });

  it('uses the head of a file', async () => {
    const model = await load('qwen3-rerank');
    const [list] = await model.classify(['who ran']);
    expect(list).toHaveLength(2);
    await expect(model.classify(['who'], ['a', 'b'])).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    model.dispose();
  });

  it('refuses what is wrong, and can be cancelled', async () => {
    const model = await loadStories();
    const wrong = { code: 'invalid_argument' };
    await expect(model.classify('a', ['b'])).rejects.toMatchObject(wrong);
    await expect(model.classify('a', ['b', 'b'])).rejects.toMatchObject(wrong);
    await expect(model.classify([3 as unknown as string], labels)).rejects.toMatchObject(wrong);
    await expect(model.classify(['a'], labels, { topN: 1 } as object)).rejects.toMatchObject(wrong);
    await expect(model.classify('a '.repeat(3000), labels)).rejects.toMatchObject({
      code: 'prompt_too_long',
    });
    const controller = new AbortController();
    const many = Array.from({ length: 2000 }, (_, i) => `number ${String(i)}`);
    const onProgress = () => {
      controller.abort('enough');
    };
    const { signal } = controller;
    await expect(model.classify(many, labels, { signal, onProgress })).rejects.toBe('enough');
    expect(await model.classify(['a'], labels)).toHaveLength(1);
    model.dispose();
  });

  it('ends with what a listener throws, as loading does', async () => {
    const failure = new Error('the page was redrawn');
    const onProgress = () => {
      throw failure;
    };
    await expect(Kinglet.load(new Blob([storyBytes]), { onProgress })).rejects.toBe(failure);
    const model = await loadStories();
    await expect(model.classify(['a', 'b'], labels, { onProgress })).rejects.toBe(failure);
    expect(await model.classify(['a'], labels)).toHaveLength(1);
    model.dispose();
  });
});

describe('similarity', () => {
  it('is the cosine of two vectors of one size', () => {
    expect(similarity([1, 0], [2, 0])).toBe(1);
    expect(similarity(Float32Array.of(1, 0), [0, 3])).toBe(0);
    expect(similarity([1, 1], [-2, -2])).toBeCloseTo(-1, 10);
    expect(similarity([0, 0], [1, 2])).toBe(0);
    expect(() => similarity([1], [1, 2])).toThrow('vectors of 1 and 2 numbers');
    for (const wrong of [undefined, 5] as never[]) {
      expect(() => similarity(wrong, [1])).toThrow('a vector must be an object');
    }
  });
});

describe.concurrent.each(browserNames)('in %s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer({ isolated: true });
    for (const model of ['bert', 'bert-rerank']) {
      server.files.set(`/${model}.gguf`, { bytes: bytesOf(model), etag: '"1"' });
    }
    server.files.set('/stories.gguf', { bytes: storyBytes, etag: '"1"' });
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it('classifies as in Node', { timeout: 60_000 }, async () => {
    const found = await page.evaluate(async () => {
      const model = await kinglet.Kinglet.load('/stories.gguf', { cache: false });
      const lists = await model.classify(['Lily smiled.', 'Tom cried.'], ['happy', 'very sad']);
      model.dispose();
      return lists;
    });
    const model = await Kinglet.load(new Blob([storyBytes]), { nThreads: 1 });
    const expected = await model.classify(['Lily smiled.', 'Tom cried.'], ['happy', 'very sad']);
    for (const [i, list] of found.entries()) {
      for (const [j, { label, probability }] of list.entries()) {
        expect(label).toBe(expected[i]![j]!.label);
        expect(Math.abs(probability - expected[i]![j]!.probability)).toBeLessThan(0.02);
      }
    }
    model.dispose();
  });

  it('embeds and ranks as in Node, with threads too', { timeout: 60_000 }, async () => {
    const found = await page.evaluate(async (wanted: string[]) => {
      const all: { vectors: number[][]; ranks: { index: number; score: number }[] }[] = [];
      for (const nThreads of [1, 2]) {
        const options = { nThreads, cache: false };
        const model = await kinglet.Kinglet.load('/bert.gguf', options);
        const ranker = await kinglet.Kinglet.load('/bert-rerank.gguf', options);
        const vectors = (await model.embed(wanted)).map((vector) => [...vector]);
        all.push({ vectors, ranks: await ranker.rerank('who', wanted) });
        model.dispose();
        ranker.dispose();
      }
      return all;
    }, texts);
    const model = await load('bert');
    const ranker = await load('bert-rerank');
    const vectors = await model.embed(texts);
    const ranks = await ranker.rerank('who', texts);
    for (const of of found) {
      for (const [i, vector] of of.vectors.entries()) {
        expect(similarity(vector, vectors[i]!)).toBeGreaterThan(0.99999);
      }
      expect(of.ranks.map(({ index }) => index)).toEqual(ranks.map(({ index }) => index));
    }
    expect(found[1]).toEqual(found[0]);
    model.dispose();
    ranker.dispose();
  });
});

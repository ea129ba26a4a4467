// Models that others trained, as people find them. Their files are not part of the project: without
// them, these tests are skipped. tests/session/real_files_test.cpp has the probabilities.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Kinglet, similarity } from 'kinglet';
import { kinglet as program } from '../cli/program.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import { root } from './support.ts';

const folder = join(root, '../shared/models/real');
const chatModel = join(folder, 'SmolLM2-135M-Instruct.Q4_1.gguf');
const encoder = join(folder, 'all-MiniLM-L6-v2-F16.gguf');

const question = 'Name a large animal with a trunk.';
const greedy = { temperature: 0, maxTokens: 16 };

describe.skipIf(!existsSync(encoder))('all-MiniLM-L6-v2', () => {
  interface Answers {
    /** The texts 2i and 2i + 1 are a question and its answer, for i < pairs. */
    pairs: number;
    texts: string[];
    tokens: number[][];
    embeddings: number[][];
  }
  const scratch = mkdtempSync(join(tmpdir(), 'kinglet-real-'));
  afterAll(() => {
    rmSync(scratch, { recursive: true });
  });

  function answers(): Answers {
    return JSON.parse(
      readFileSync(join(folder, 'all-MiniLM-L6-v2.embeddings.json'), 'utf8'),
    ) as Answers;
  }

  /** The cosines of the vectors of a file with those of the model's own library. */
  async function cosines(path: string): Promise<number[]> {
    const { texts, embeddings } = answers();
    const model = await Kinglet.load(path, { nThreads: 1 });
    onTestFinished(() => {
      model.dispose();
    });
    const vectors = await model.embed(texts);
    return vectors.map((vector, i) => similarity(vector, embeddings[i]!));
  }

  it('has the tokens and vectors of its own library, and finds the answers', async () => {
    expect(Math.min(...(await cosines(encoder)))).toBeGreaterThan(0.99999);
    const { pairs, texts, tokens } = answers();
    const model = await Kinglet.load(encoder, { nThreads: 1 });
    for (const [i, text] of texts.entries()) {
      const withoutEnd = tokens[i]!.slice(0, -1); // tokenize() leaves the separator out
      expect(await model.tokenize(text)).toEqual(withoutEnd);
    }
    const vectors = await model.embed(texts.slice(0, 2 * pairs));
    const replies = vectors.filter((_, i) => i % 2 === 1);
    for (let i = 0; i < pairs; ++i) {
      const scores = replies.map((reply) => similarity(vectors[2 * i]!, reply));
      expect(scores.indexOf(Math.max(...scores)), texts[2 * i]).toBe(i);
    }
    model.dispose();
  });

  // The smallest cosine of Q8_0, and the means that llama.cpp's files of the same types have.
  it.each([
    ['Q8_0', 'least', 0.998],
    ['Q4_K_M', 'mean', 0.9895],
    ['Q2_K', 'mean', 0.9497],
  ] as const)('loses no more than elsewhere when it becomes %s', async (type, of, bound) => {
    const path = join(scratch, `${type}.gguf`);
    expect(program(['quantize', encoder, path, type])).toMatchObject({ status: 0 });
    const found = await cosines(path);
    const mean = found.reduce((sum, x) => sum + x, 0) / found.length;
    expect(of === 'least' ? Math.min(...found) : mean).toBeGreaterThan(bound - 0.0005);
  });
});

describe.skipIf(!existsSync(chatModel))('SmolLM2-135M-Instruct', () => {
  it('answers in its own words', async () => {
    const model = await Kinglet.load(chatModel, { nThreads: 1 });
    expect(model.info.kv).toEqual({ k: 'q8', v: 'q8' });
    const { text } = await model.chat(question, greedy).result;
    expect(text).toContain('elephant');
    model.dispose();
  });

  it.each(browserNames)('answers in a page in %s', { timeout: 180_000 }, async (name) => {
    const server = await startFaultyServer({ isolated: true });
    const bytes = new Uint8Array(readFileSync(chatModel));
    server.files.set('/chat.gguf', { bytes, etag: '"1"' });
    const page = await openAnyPage(name);
    onTestFinished(async () => {
      await page.close();
      server.close();
    });
    await openKinglet(page, server.url);
    const text = await page.evaluate(
      async (asked: string, options: typeof greedy) => {
        const model = await kinglet.Kinglet.load('/chat.gguf', { cache: false });
        const { result } = model.chat(asked, options);
        return (await result).text;
      },
      question,
      greedy,
    );
    expect(text).toContain('elephant');
  });
});

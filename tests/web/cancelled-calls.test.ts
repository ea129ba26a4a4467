// A call that computes for long without a message coming in: its signal frees the worker, also where
// the page and the worker cannot share memory.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Kinglet } from '../../dist/index.js';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { storyModel } from './support.ts';

const chatTemplate = '{{ messages[0].content }}';
const path = '/model.gguf';

interface Model {
  chat: (text: string, options?: { signal: AbortSignal }) => { result: Promise<unknown> };
  detokenize: (tokens: number[]) => Promise<string>;
}

/** Returns how long the call takes, and how long the next one takes after its signal, in ms. */
async function measure(model: Model): Promise<{ whole: number; freed: number; told: string }> {
  const timeOf = async (work: Promise<unknown>) => {
    const begin = performance.now();
    await work.catch(() => undefined);
    return performance.now() - begin;
  };
  const text = 'a word '.repeat(1_100_000); // is refused, because it is longer than the context
  const whole = await timeOf(model.chat(text).result);
  const controller = new AbortController();
  const { result } = model.chat(text, { signal: controller.signal });
  const told = result.then(
    () => 'an answer',
    (error: unknown) => (error as Error).name,
  );
  await new Promise((resolve) => setTimeout(resolve, whole / 10));
  controller.abort();
  return { whole, freed: await timeOf(model.detokenize([5])), told: await told };
}

it('frees the worker in Node, with one thread', async () => {
  const bytes = new Uint8Array(readFileSync(storyModel));
  const model = await Kinglet.load(bytes, { nThreads: 1, chatTemplate });
  const { whole, freed, told } = await measure(model);
  expect(told).toBe('AbortError');
  expect(freed).toBeLessThan(whole / 2);
  model.dispose();
});

describe.concurrent.each(browserNames)('%s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer();
    server.files.set(path, { bytes: new Uint8Array(readFileSync(storyModel)) });
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it('frees the worker of a page that is not isolated', async () => {
    const { whole, freed, told, isolated } = await page.evaluate(
      async (from: string, template: string, measuring: string) => {
        const measureHere = (0, eval)(`(${measuring})`) as typeof measure;
        const model = await kinglet.Kinglet.load(from, { cache: false, chatTemplate: template });
        const measured = await measureHere(model);
        model.dispose();
        return { ...measured, isolated: crossOriginIsolated };
      },
      path,
      chatTemplate,
      measure.toString(),
    );
    expect(isolated).toBe(false);
    expect(told).toBe('AbortError');
    expect(freed).toBeLessThan(whole / 2);
  });
});

// Threads that do not start, in each browser: a load settles within the time that
// docs/reliability.md states, and the loaded model works. The tests mostly wait, so the browsers
// are tested at the same time; in each browser the tests run one after the other.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { nTokens, opening } from './loading-page.ts';
import { storyModel, tellByCli } from './support.ts';

const path = '/model.gguf';
const worker = '/dist/worker/worker.js';
const glue = ['relaxed-simd', 'simd128'].map((simd) => `/dist/engine/kinglet-${simd}-threads.js`);

describe.concurrent.each(browserNames)('%s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer({ isolated: true });
    const bytes = new Uint8Array(readFileSync(storyModel));
    server.files.set(path, { bytes, etag: '"1"' });
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it(
    'loads again at once after each of 20 loads that were aborted',
    { concurrent: false, timeout: 300_000 },
    async () => {
      const outcomes = await page.evaluate(async (from: string) => {
        const load = (signal?: AbortSignal) =>
          kinglet.Kinglet.load(from, { nThreads: 4, cache: false, signal });
        const told: string[] = [];
        for (let i = 0; i < 20; ++i) {
          const controller = new AbortController();
          setTimeout(() => {
            controller.abort();
          }, 6 * i);
          const first = await load(controller.signal).catch((error: unknown) => error as Error);
          if (first instanceof kinglet.Kinglet) first.dispose();
          else if (first.name !== 'AbortError') told.push(first.message);
          const second = await load();
          told.push(String(second.info.runtime.nThreads));
          second.dispose();
        }
        return told;
      }, path);
      expect(outcomes).toEqual(Array(20).fill('4'));
    },
  );

  // `new Worker` does not return, as in Firefox while a tool watches its workers.
  const stopsAtThird = `{
    const { Worker: RealWorker } = self;
    let n = 0;
    self.Worker = class extends RealWorker {
      constructor(...values) {
        if (++n === 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        super(...values);
      }
    };
  }\n`;
  const saysNothing = `if (globalThis.name === 'em-pthread') globalThis.postMessage = () => {};\n`;
  it.each([
    ['a worker that stands still', [worker], stopsAtThird, 2, 10],
    ['threads that say nothing', glue, saysNothing, 1, 20],
  ])(
    'starts over after %s',
    { concurrent: false, timeout: 120_000 },
    async (_, scripts, prelude, nThreads, seconds) => {
      for (const script of scripts) server.preludes.set(script, prelude);
      const { runtime, text, warnings, ms } = await page.evaluate(
        async (from: string, prompt: string, maxTokens: number) => {
          const said: string[] = [];
          const begun = performance.now();
          const model = await kinglet.Kinglet.load(from, {
            ...{ nThreads: 4, cache: false },
            onWarning: ({ code }) => said.push(code),
          });
          const took = performance.now() - begun;
          const { result } = model.generate(prompt, { temperature: 0, maxTokens });
          const told = (await result).text;
          model.dispose();
          return { runtime: model.info.runtime, text: told, warnings: said, ms: took };
        },
        ...([path, opening, nTokens] as const),
      );
      server.preludes.clear();
      expect(text).toBe(tellByCli(opening, nTokens));
      expect(runtime.nThreads).toBe(nThreads);
      expect(runtime.singleThreadReason).toBe(nThreads > 1 ? undefined : 'refused');
      expect(warnings).toEqual(Array(seconds / 10).fill('worker_crashed'));
      expect(ms).toBeGreaterThan(1000 * (seconds - 1));
      expect(ms).toBeLessThan(1000 * (seconds + 10));
    },
  );

  // Without a reminder to collect garbage, Chromium's pages find no memory for the 125th model.
  it.runIf(name === 'Chromium')(
    'loads 150 models with threads',
    { concurrent: false, timeout: 300_000 },
    async () => {
      await page.evaluate(async (from: string) => {
        const options = { nThreads: 2, nCtx: 256, cache: false };
        for (let i = 0; i < 150; ++i) (await kinglet.Kinglet.load(from, options)).dispose();
      }, path);
    },
  );

  it('settles at once where it is aborted meanwhile', { concurrent: false }, async () => {
    server.preludes.set(worker, stopsAtThird);
    const { code, ms } = await page.evaluate(async (from: string) => {
      const controller = new AbortController();
      let aborted = 0;
      setTimeout(() => {
        aborted = performance.now();
        controller.abort();
      }, 3000);
      const { signal } = controller;
      const outcome = await kinglet.Kinglet.load(from, { nThreads: 4, cache: false, signal }).then(
        () => 'loaded',
        (error: unknown) => (error as Error).name,
      );
      return { code: outcome, ms: performance.now() - aborted };
    }, path);
    server.preludes.clear();
    expect(code).toBe('AbortError');
    expect(ms).toBeLessThan(1000);
  });
});

// Users who change their mind, in headless Chromium: they dispose of a model or a session in the
// middle of an operation, or abort it. The page must go on and generate the same story as before.
// Takes about a minute: nearly 100 models are loaded, and 1500 operations are interrupted. All tests
// use one page, as a user would; each loads its own models.
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { abortable, interruptInPage, operations } from './interruptions.ts';
import type { Interruptions } from './interruptions.ts';
import { nTokens, opening } from './loading-page.ts';
import { shareChromium } from './shared-browsers.ts';
import { storyModel, tellByCli, withChatTemplate } from './support.ts';

const path = '/model.gguf';

let browser: Browser;
let server: FaultyServer;
let page: Page;
let story: string;

beforeAll(async () => {
  browser = await shareChromium();
  server = await startFaultyServer({ isolated: true });
  const bytes = withChatTemplate(readFileSync(storyModel), '{{ messages[0].content }}');
  server.files.set(path, { bytes, etag: '"1"' });
  story = tellByCli(opening, nTokens);
  page = await browser.newPage();
  await page.goto(server.url);
});

afterAll(async () => {
  await browser.close();
  server.close();
});

const interrupt = (interruptions: Interruptions) =>
  interruptInPage(page, path, story, interruptions);

describe('what is disposed of', () => {
  it.each(operations)(
    'in the middle of %s is gone, and the next model works',
    async (operation) => {
      const outcomes = await interrupt({ operation, by: 'dispose', nTimes: 8, seed: 4 });
      expect(new Set(['done', ...outcomes])).toEqual(new Set(['done', 'disposed']));
    },
  );

  it.each(operations)(
    'if it is but a session, in %s, leaves the model alone',
    async (operation) => {
      const outcomes = await interrupt({ operation, by: 'disposeSession', nTimes: 20, seed: 5 });
      for (const outcome of outcomes) expect(['done', 'disposed']).toContain(outcome);
    },
  );
});

describe('work that is aborted', () => {
  it.each(abortable)('again and again at random leaves the model alone: %s', async (operation) => {
    const outcomes = await interrupt({ operation, by: 'abort', nTimes: 150, seed: 6 });
    expect(new Set(['done', ...outcomes])).toEqual(new Set(['done', 'AbortError']));
    expect(outcomes.filter((outcome) => outcome === 'AbortError').length).toBeGreaterThan(40);
  });

  it('a hundred times while it loads leaves nothing behind', { timeout: 120_000 }, async () => {
    const { aborted, text } = await page.evaluate(
      async ([from, prompt, maxTokens, seed]) => {
        let x = seed;
        const random = (n: number) => {
          x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
          return Math.floor((x / 2 ** 32) * n);
        };
        let nAborted = 0;
        for (let i = 0; i < 100; ++i) {
          const controller = new AbortController();
          setTimeout(() => {
            controller.abort();
          }, random(120));
          try {
            const model = await kinglet.Kinglet.load(from, { signal: controller.signal });
            model.dispose();
          } catch (error) {
            if ((error as Error).name !== 'AbortError') throw error;
            nAborted += 1;
          }
        }
        const model = await kinglet.Kinglet.load(from, { nThreads: 1 });
        const result = await model.generate(prompt, { temperature: 0, maxTokens }).result;
        model.dispose();
        return { aborted: nAborted, text: result.text };
      },
      [path, opening, nTokens, 3] as const,
    );
    expect(aborted).toBeGreaterThan(10);
    expect(text).toBe(story);
  });
});

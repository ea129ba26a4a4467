// Random operations in a live page of each browser; the text that each one must generate is known.
import { readFileSync } from 'node:fs';
import { Kinglet } from 'kinglet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnyPage, BrowserName } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { opening } from './loading-page.ts';
import { storyModel, tellByCli } from './support.ts';
import { stormInPage } from './storm.ts';

// A full run has 2000 operations; see docs/reliability.md. WebKitGTK takes four times as long for each.
const operationsIn = (name: BrowserName) =>
  Number(process.env.KINGLET_STORM ?? (name === 'WebKit' ? 150 : 400));

const bytes = new Uint8Array(readFileSync(storyModel));
/** In a longer story, the kernels of page and program may differ by a near tie. */
const nTokens = 80;
let stories: Record<string, string>;

beforeAll(async () => {
  const model = await Kinglet.load(bytes, { nThreads: 1, kernels: 'simd128' });
  const { text } = await model.generate(opening, { temperature: 0, maxTokens: nTokens }).result;
  model.dispose();
  stories = { simd128: text, 'relaxed-simd': tellByCli(opening, nTokens) };
});

describe.each(browserNames)('%s', (name) => {
  const nOperations = operationsIn(name);
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer({ isolated: true });
    server.files.set('/model.gguf', { bytes, etag: '"1"' });
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it(
    `tells the same story in a storm of ${String(nOperations)} operations`,
    { timeout: 120_000 + 1000 * nOperations },
    async () => {
      const storm = { path: '/model.gguf', stories, nOperations, seed: 8 };
      const { counts, complaints } = await stormInPage(page, storm);
      expect(complaints).toEqual([]);
      const nDone = Object.entries(counts).reduce(
        (sum, [outcome, n]) => sum + (outcome.startsWith('warning') ? 0 : n),
        0,
      );
      expect(nDone).toBe(nOperations);
      for (const outcome of ['load', 'generate', 'fork', 'restore', 'truncate']) {
        expect(counts[`${outcome}: done`]).toBeGreaterThan(nOperations / 100);
      }
      for (const aborted of ['load', 'generate']) {
        expect(counts[`${aborted} aborted: AbortError`]).toBeGreaterThan(nOperations / 100);
      }
    },
  );
});

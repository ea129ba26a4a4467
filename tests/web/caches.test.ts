// The cache in each browser: what it keeps, reads again, resumes and deletes. Debian's WebKit under
// WebDriver offers only the Cache API; the others offer files. The faults are in cache.test.ts.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AnyPage } from './any-browser.ts';
import { browserNames, holdCache, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer, ServedFile } from './faulty-server.ts';
import { loadInPage, nTokens, opening } from './loading-page.ts';
import type { PageLoadOptions } from './loading-page.ts';
import { splitModel } from './split-model.ts';
import { storyModel, tellByCli, withMetadata } from './support.ts';

const bytes = new Uint8Array(readFileSync(storyModel));
const block = 1 << 20;
const half = 2 * block + 5000; // the first part of the file, which has about three MiB
const path = '/model.gguf';
const fromNetwork = ['download', 'prepare'];
const fromCache = ['cache', 'prepare'];
const fromBoth = ['cache', 'download', 'prepare'];

let story: string;
beforeAll(() => {
  story = tellByCli(opening, nTokens);
});

describe.each(browserNames)('the cache in %s', (name) => {
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer();
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
    await holdCache(page);
  });
  afterAll(async () => {
    await page.close();
    server.close();
  });
  beforeEach(async () => {
    server.files.clear();
    server.requests.length = 0;
    await page.evaluate(() => new kinglet.ModelCache().clear());
  });

  function serve(file: Partial<ServedFile> = {}): void {
    server.files.set(path, { bytes, etag: '"1"', ...file });
  }
  const load = (options?: PageLoadOptions) => loadInPage(page, path, options);
  const list = () =>
    page.evaluate(async () =>
      (await new kinglet.ModelCache().list()).map(({ url, isComplete }) => ({
        path: new URL(url).pathname,
        isComplete,
      })),
    );

  it('gives a model the next time, also when the server does not', async () => {
    serve();
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork, warnings: [] });
    const second = await load();
    expect(second).toMatchObject({ text: story, phases: fromCache, warnings: [] });
    expect(second.progress.at(-1)).toEqual({ loaded: bytes.length, total: bytes.length });
    serve({ status: 500 });
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
    expect(await list()).toEqual([{ path, isComplete: true }]);
  });

  it('keeps nothing that is not to be kept', async () => {
    serve();
    await load({ cache: false });
    expect(await list()).toEqual([]);
  });

  it('goes on with a download that was aborted', async () => {
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    expect((await load({ abortAt: half })).code).toBe('AbortError');
    expect(await list()).toEqual([{ path, isComplete: false }]);
    expect(await load()).toMatchObject({ text: story, phases: fromBoth, warnings: [] });
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('gives way to another version', async () => {
    serve({ bytes: bytes.map((byte, i) => (i < half ? byte : ~byte)), etag: '"0"' });
    await load();
    serve();
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork });
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('keeps the parts of a split model, and forgets them', async () => {
    const parts = splitModel(bytes, 2);
    const paths = parts.map((_, i) => `/m-0000${String(i + 1)}-of-00002.gguf`);
    parts.forEach((part, i) => server.files.set(paths[i]!, { bytes: part, etag: '"p"' }));
    await loadInPage(page, paths[0]!);
    for (const path of paths) {
      expect(await loadInPage(page, path)).toMatchObject({ text: story, phases: fromCache });
    }
    expect((await list()).map((file) => file.path).sort()).toEqual(paths);
    const size = await page.evaluate(async (first: string) => {
      const cache = new kinglet.ModelCache();
      await cache.delete(first);
      return cache.size();
    }, paths[0]!);
    expect(size).toBe(0);
  });

  it('forgets only the named file if that is whole, though it has the name of a part', async () => {
    const paths = ['/m-00001-of-00002.gguf', '/m-00002-of-00002.gguf'] as const;
    // The header reaches into the second block.
    const whole = withMetadata(bytes, { filling: ' '.repeat(block) });
    for (const path of paths) {
      server.files.set(path, { bytes: whole, etag: '"1"' });
      expect(await loadInPage(page, path)).toMatchObject({ text: story, phases: fromNetwork });
    }
    await page.evaluate((first: string) => new kinglet.ModelCache().delete(first), paths[0]);
    expect(await list()).toEqual([{ path: paths[1], isComplete: true }]);
  });
});

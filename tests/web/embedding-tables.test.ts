// Embedding tables that stay in their file, in Node and in browsers, and tables that cannot.
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet, KingletError, ModelCache } from 'kinglet';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { FolderStore } from '../../web/src/cache/folder-store.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { loadInPage, nTokens, opening } from './loading-page.ts';
import { splitModel, untiedModel } from './split-model.ts';
import { storyModel, tellByCli } from './support.ts';

const tied = new Uint8Array(readFileSync(storyModel));
const bytes = untiedModel(tied);
const tableBytes = 2048 * 210; // rows of 256 weights in Q6_K
const path = '/model.gguf';
const onDemand = { embeddingTables: 'file', nThreads: 1 } as const;

let server: FaultyServer;
let story: string;

beforeAll(async () => {
  server = await startFaultyServer({ isolated: true });
  story = tellByCli(opening, nTokens);
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  server.files.clear();
  server.preludes.clear();
  server.files.set(path, { bytes, etag: '"1"' });
});

const tell = async (model: Kinglet) =>
  (await model.generate(opening, { temperature: 0, maxTokens: nTokens }).result).text;

describe('in Node', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const written = () => {
    const file = join(folder, 'model.gguf');
    writeFileSync(file, bytes);
    return file;
  };

  it.each([1, 2])('rows are read from a path: %i threads', async (nThreads) => {
    const model = await Kinglet.load(written(), { ...onDemand, nThreads });
    const { storedBytes, weightBytes } = model.info.memory;
    expect(storedBytes).toBe(tableBytes);
    expect(weightBytes + storedBytes).toBeLessThan(bytes.length);
    expect(await tell(model)).toBe(story);
    model.dispose();
  });

  it('a small table is loaded unless it is wanted in the file', async () => {
    for (const embeddingTables of ['auto', 'memory'] as const) {
      const model = await Kinglet.load(written(), { nThreads: 1, embeddingTables });
      expect(model.info.memory.storedBytes).toBe(0);
      model.dispose();
    }
    const model = await Kinglet.load(tied, onDemand);
    expect(model.info.memory.storedBytes).toBe(0); // the table also makes the logits
    model.dispose();
    const wrong = Kinglet.load(tied, { embeddingTables: 'disk' as 'file' });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('what cannot be read again is loaded', async () => {
    const stream = new Blob([bytes]).stream();
    for (const source of [bytes, stream, server.url + path.slice(1)]) {
      const model = await Kinglet.load(source, { ...onDemand, cache: false });
      expect(model.info.memory.storedBytes).toBe(0);
      expect(await tell(model)).toBe(story);
      model.dispose();
    }
  });

  it('a file that is cut short is an error in words, and the session goes on', async () => {
    const file = written();
    const model = await Kinglet.load(file, onDemand);
    expect(await tell(model)).toBe(story);
    truncateSync(file, 20_000);
    await expect(tell(model)).rejects.toMatchObject({ code: 'io' });
    await expect(tell(model)).rejects.toThrow(/can no longer be read: it ends at byte/);
    writeFileSync(file, bytes);
    expect(await tell(model)).toBe(story);
    model.dispose();
  });

  it('the first of several files holds the table', async () => {
    const names = splitModel(bytes, 1)
      .concat(splitModel(bytes, 2))
      .map((part, i) => {
        const name = join(folder, `part-${String(i)}.gguf`);
        writeFileSync(name, part);
        return name;
      });
    const model = await Kinglet.load(names.slice(1), onDemand);
    expect(await tell(model)).toBe(story);
    model.dispose();
  });

  it('a damaged block of the copy is found when a row of it is read first', async () => {
    const url = server.url + path.slice(1);
    const options = { ...onDemand, cache: folder };
    (await Kinglet.load(url, options)).dispose();
    const store = await FolderStore.open(folder);
    const [name = ''] = await store.names();
    const copy = readFileSync(join(folder, name));
    copy[32_768 + 2 ** 20 + 5]! ^= 1;
    writeFileSync(join(folder, name), copy);
    const places = await store.openPlaces(name);
    const target = new Uint8Array(1000);
    expect(places.read(target, 70_000)).toBe(1000);
    expect(target).toEqual(bytes.subarray(70_000, 71_000));
    for (const at of [2 ** 20 - 999, 2 ** 20, 2 ** 21 - 1]) {
      expect(() => places.read(target, at)).toThrow(/block 1 of the cached copy differs/);
    }
    expect(places.read(target, 2 ** 21)).toBe(1000);
    places.close();
  });

  it('a download is kept, and rows come from the copy the first time and the next', async () => {
    for (const phase of ['download', 'cache']) {
      const phases = new Set<string>();
      const model = await Kinglet.load(server.url + path.slice(1), {
        ...onDemand,
        cache: folder,
        onProgress: (progress) => phases.add(progress.phase),
      });
      expect([...phases]).toEqual([phase, 'prepare']);
      expect(model.info.memory.storedBytes).toBe(tableBytes);
      expect(await tell(model)).toBe(story);
      await new ModelCache(folder).list();
      model.dispose();
    }
  });
});

describe('in Chromium', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    browser = await launchHeadlessShell();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    context = await browser.newContext();
    page = await newPage();
  });
  afterEach(() => context.close());

  async function newPage() {
    const opened = await context.newPage();
    await opened.goto(server.url);
    return opened;
  }

  it.each([1, 2])('rows are read from the cache, from the first load on: %i threads', async (n) => {
    for (const phase of ['download', 'cache']) {
      const outcome = await loadInPage(page, path, { ...onDemand, nThreads: n, cache: true });
      expect(outcome).toMatchObject({ text: story, phases: [phase, 'prepare'], warnings: [] });
      expect(outcome.info!.memory.storedBytes).toBe(tableBytes);
      expect(outcome.progress.at(-1)).toEqual({ loaded: bytes.length, total: bytes.length });
    }
  });

  it('a download that was interrupted goes on', async () => {
    server.files.set(path, { bytes, etag: '"1"', faults: [{ byte: 2_200_000, kind: 'stall' }] });
    const aborted = await loadInPage(page, path, { ...onDemand, cache: true, abortAt: 2_200_000 });
    expect(aborted.code).toBe('AbortError');
    const outcome = await vi.waitFor(
      async () => {
        const again = await loadInPage(page, path, { ...onDemand, cache: true });
        expect(again.phases).toEqual(['cache', 'download', 'prepare']);
        return again;
      },
      { timeout: 20_000 },
    );
    expect(outcome).toMatchObject({ text: story, warnings: [] });
    expect(outcome.info!.memory.storedBytes).toBe(tableBytes);
  });

  it('without storage the table is loaded', async () => {
    const outcome = await loadInPage(page, path, { ...onDemand, cache: false });
    expect(outcome).toMatchObject({ text: story, info: { memory: { storedBytes: 0 } } });
  });

  it('a copy that cannot be kept to its end is given up, and the table is loaded', async () => {
    const prelude = `{
      const { prototype } = FileSystemSyncAccessHandle;
      const { write } = prototype;
      prototype.write = function (bytes, options) {
        if (options.at > 3e6) throw new DOMException('no room', 'QuotaExceededError');
        return write.call(this, bytes, options);
      };
    }`;
    server.preludes.set('/dist/worker/worker.js', prelude);
    const opened = await newPage();
    const outcome = await loadInPage(opened, path, { ...onDemand, cache: true });
    expect(outcome).toMatchObject({ text: story, info: { memory: { storedBytes: 0 } } });
    expect(outcome.warnings).toContain('cache_full');
    expect(outcome.warnings).toContain('cache_unavailable');
  });

  it('two tabs read the same copy', async () => {
    await loadInPage(page, path, { ...onDemand, cache: true });
    const pages = [page, await newPage()];
    const told = await Promise.all(
      pages.map((each) => loadInPage(each, path, { ...onDemand, cache: true })),
    );
    for (const { text, info } of told) {
      expect(text).toBe(story);
      expect(info!.memory.storedBytes).toBe(tableBytes);
    }
  });

  it('a copy in use is not deleted, until the model is disposed of', async () => {
    const codes = await page.evaluate(async (source) => {
      const { Kinglet: Loaded, ModelCache: Cache } = kinglet;
      const model = await Loaded.load(source, { embeddingTables: 'file', nThreads: 1 });
      const attempt = () =>
        new Cache().delete(source).then(
          () => 'deleted',
          (error: unknown) => (error as KingletError).code,
        );
      const first = await attempt();
      const { text } = await model.generate('Once', { temperature: 0, maxTokens: 2 }).result;
      model.dispose();
      return [first, text !== '', await attempt()];
    }, path);
    expect(codes).toEqual(['cache_unavailable', true, 'deleted']);
  });
});

describe.each(browserNames)('a Blob in %s', (name) => {
  it('gives its rows while the model is used', { timeout: 120_000 }, async () => {
    const page = await openAnyPage(name);
    try {
      await openKinglet(page, server.url);
      const told = await page.evaluate(
        async (source, prompt, maxTokens) => {
          const blob = await (await fetch(source)).blob();
          const options = { embeddingTables: 'file', nThreads: 1 } as const;
          const texts = [];
          for (const from of [blob, source, source]) {
            const model = await kinglet.Kinglet.load(from, options);
            const { text } = await model.generate(prompt, { temperature: 0, maxTokens }).result;
            texts.push([text, model.info.memory.storedBytes]);
            model.dispose();
          }
          return texts;
        },
        path,
        opening,
        nTokens,
      );
      // This WebKit has no synchronous file handles, and the Cache API has no synchronous reads.
      const ofCopy = name === 'WebKit' ? 0 : tableBytes;
      expect(told).toEqual([tableBytes, ofCopy, ofCopy].map((stored) => [story, stored]));
    } finally {
      await page.close();
    }
  });
});

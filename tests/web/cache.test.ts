// The cache in headless Chromium: what it keeps, what it reads again, and which faults it survives.
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer, ServedFile } from './faulty-server.ts';
import { loadInPage, nTokens, opening } from './loading-page.ts';
import type { PageLoadOptions } from './loading-page.ts';
import { splitModel } from './split-model.ts';
import { storyModel, tellByCli } from './support.ts';

const bytes = new Uint8Array(readFileSync(storyModel));
const block = 1 << 20;
const half = 2 * block + 5000; // the first part of the file, which has about three MiB

let browser: Browser;
let server: FaultyServer;
let context: BrowserContext;
let page: Page;
let story: string;

beforeAll(async () => {
  browser = await launchHeadlessShell();
  server = await startFaultyServer();
  story = tellByCli(opening, nTokens);
});

afterAll(async () => {
  await browser.close();
  server.close();
});

beforeEach(async () => {
  server.files.clear();
  server.preludes.clear();
  server.requests.length = 0;
  context = await browser.newContext(); // has its own storage
  page = await newPage();
});

afterEach(() => context.close());

const path = '/model.gguf';

async function newPage(): Promise<Page> {
  const opened = await context.newPage();
  await opened.goto(server.url);
  return opened;
}

function serve(file: Partial<ServedFile> = {}): ServedFile {
  const served = { bytes, etag: '"1"', ...file };
  server.files.set(path, served);
  return served;
}

const load = (options?: PageLoadOptions) => loadInPage(page, path, options);
const ranges = () => server.requests.map(({ range }) => range);
const list = () =>
  page.evaluate(async () =>
    (await new kinglet.ModelCache().list()).map(({ url, isComplete }) => ({
      path: new URL(url).pathname,
      isComplete,
    })),
  );
const fromNetwork = ['download', 'prepare'];
const fromCache = ['cache', 'prepare'];
const fromBoth = ['cache', 'download', 'prepare'];

/** A file of the model's size that begins like the model, but is not a model. */
const otherBytes = bytes.map((byte, i) => (i < half ? byte : ~byte));

/** Changes the only file in the cache as soon as the worker of an aborted load has closed it. */
async function damage(at: number, kind: 'flip' | 'cut'): Promise<void> {
  await vi.waitFor(() => damageNow(at, kind), 5000);
}

async function damageNow(at: number, kind: 'flip' | 'cut'): Promise<void> {
  await page.evaluate(
    async ([position, what]) => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle('kinglet');
      for await (const handle of folder.values()) {
        const file = handle as FileSystemFileHandle;
        const stream = await file.createWritable({ keepExistingData: true });
        if (what === 'cut') {
          await stream.truncate(position);
        } else {
          const byte = new Uint8Array(await (await file.getFile()).arrayBuffer())[position] ?? 0;
          await stream.write({ type: 'write', position, data: Uint8Array.of(byte ^ 1) });
        }
        await stream.close();
      }
    },
    [at, kind] as const,
  );
}

describe('a model that was loaded', () => {
  it('comes from the cache the next time', async () => {
    serve();
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork, warnings: [] });
    const second = await load();
    expect(second).toMatchObject({ text: story, phases: fromCache, warnings: [] });
    expect(second.progress.at(-1)).toEqual({ loaded: bytes.length, total: bytes.length });
    expect(await list()).toEqual([{ path, isComplete: true }]);
  });

  it('is kept although the server tells neither its length nor its version', async () => {
    serve({ etag: undefined, hidesLength: true });
    await load();
    expect(await load()).toMatchObject({ text: story, phases: fromCache, warnings: [] });
  });

  it.each([404, 403, 500])('is there when the server answers %i', async (status) => {
    serve();
    await load();
    serve({ status });
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('is there when the server is silent, or gone', async () => {
    serve();
    await load();
    serve({ etag: '"2"', faults: [{ byte: 0, kind: 'stall' }] });
    expect(await load({ stallTimeout: 300 })).toMatchObject({ text: story, phases: fromCache });
    await page.route(`**${path}`, (route) => route.abort());
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('is not kept when that is not wanted', async () => {
    serve();
    await load({ cache: false });
    expect(await list()).toEqual([]);
    expect((await load()).phases).toEqual(fromNetwork);
  });

  it('is kept part by part where it is split', async () => {
    const parts = splitModel(bytes, 2);
    const paths = parts.map((_, i) => `/m-0000${String(i + 1)}-of-00002.gguf`);
    parts.forEach((part, i) => server.files.set(paths[i]!, { bytes: part, etag: '"p"' }));
    await loadInPage(page, paths[1]!);
    expect((await list()).map((file) => file.path).sort()).toEqual(paths);
    server.files.get(paths[1]!)!.etag = '"q"';
    expect(await loadInPage(page, paths[0]!)).toMatchObject({ text: story, phases: fromBoth });
    await page.evaluate(async ([first]) => new kinglet.ModelCache().delete(first!), paths);
    expect(await list()).toEqual([]);
  });

  it('gives way to another version only when that is whole', async () => {
    serve({ bytes: otherBytes, etag: '"0"' });
    await load();
    serve({ etag: '"1"', faults: [{ byte: half, kind: 'stall' }] });
    await load({ abortAt: half });
    expect(await list()).toHaveLength(2);
    serve({ status: 500 });
    expect((await load()).phases).toEqual(fromCache);
    serve({ etag: '"1"' });
    server.requests.length = 0;
    expect(await load()).toMatchObject({ text: story, phases: fromBoth });
    expect(ranges()).toEqual([undefined, `bytes=${String(2 * block)}-`]);
    expect(await list()).toEqual([{ path, isComplete: true }]);
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('gives way to a version that differs in its size only', async () => {
    serve({ etag: undefined, bytes: new Uint8Array([...otherBytes, 0]) });
    await load();
    serve({ etag: undefined });
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork });
  });
});

describe('an interrupted download', () => {
  it('goes on where it was aborted', async () => {
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    expect((await load({ abortAt: half })).code).toBe('AbortError');
    expect(await list()).toEqual([{ path, isComplete: false }]);
    expect(await load()).toMatchObject({ text: story, phases: fromBoth, warnings: [] });
    expect(ranges()).toEqual([undefined, `bytes=${String(2 * block)}-`]);
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('goes on after its tab was closed', async () => {
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    void load().catch(() => undefined);
    const closing = page;
    await expect.poll(() => server.requests[0]?.sent).toBe(half);
    page = await newPage();
    await expect
      .poll(async () => page.evaluate(() => new kinglet.ModelCache().size()))
      .toBeGreaterThan(2 * block);
    await closing.close();
    expect(await load()).toMatchObject({ text: story, phases: fromBoth, warnings: [] });
  });

  it('goes on after the server was lost', async () => {
    serve({ etag: undefined, lastModified: 'Sat, 21 Nov 2026 10:00:00 GMT' });
    const file = server.files.get(path)!;
    const cut = { byte: half, kind: 'cut' as const };
    file.faults = [{ byte: half, kind: () => (file.status = 404) }, cut];
    expect((await load()).code).toBe('not_found');
    delete file.status;
    expect(await load()).toMatchObject({ text: story, phases: fromBoth });
  });

  it('begins anew when the file has changed', async () => {
    serve({ bytes: otherBytes, etag: '"0"', faults: [{ byte: half, kind: 'stall' }] });
    await load({ abortAt: half });
    serve({ etag: '"1"' });
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork });
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });

  it('begins anew when the server gives no parts, or no sign of the version', async () => {
    for (const file of [{ refusesRanges: true }, { etag: undefined }]) {
      serve({ ...file, faults: [{ byte: half, kind: 'stall' }] });
      await load({ abortAt: half });
      expect(await load()).toMatchObject({ text: story, phases: fromNetwork });
      await page.evaluate(() => new kinglet.ModelCache().clear());
    }
  });

  it('is not lost to a load with a context that the model does not have', async () => {
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    await load({ abortAt: half });
    expect((await load({ nCtx: 4_000_000 })).code).toBe('invalid_argument');
    expect(await load()).toMatchObject({ text: story, phases: fromBoth, warnings: [] });
  });

  it('goes on before the block that is damaged', async () => {
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    await load({ abortAt: half });
    await damage(32768 + block + 77, 'flip');
    expect(await load()).toMatchObject({ text: story, warnings: ['cache_corrupt'] });
    expect(ranges().at(-1)).toBe(`bytes=${String(block)}-`);
    expect(await load()).toMatchObject({ text: story, phases: fromCache });
  });
});

describe('a cached file that is damaged', () => {
  it.each([
    ['in a weight', 32768 + 2 * block, 'flip' as const],
    ['in its last byte', 32768 + bytes.length - 1, 'flip' as const],
    ['by missing bytes', 32768 + bytes.length - 100, 'cut' as const],
    ['in its checksums', 4096, 'flip' as const],
  ])('is downloaded again, with a warning: %s', async (_, at, kind) => {
    serve();
    await load();
    await damage(at, kind);
    expect(await load()).toMatchObject({ text: story, warnings: ['cache_corrupt'] });
    expect(await load()).toMatchObject({ text: story, phases: fromCache, warnings: [] });
  });

  it.each([
    ['in its head', 20, 'flip' as const],
    ['by missing almost everything', 100, 'cut' as const],
    ['by missing everything', 0, 'cut' as const],
  ])('counts for nothing: %s', async (_, at, kind) => {
    serve();
    await load();
    await damage(at, kind);
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork });
    expect(await load()).toMatchObject({ text: story, phases: fromCache, warnings: [] });
  });
});

describe('storage', () => {
  it('does not keep what is not a model', async () => {
    serve({ bytes: new TextEncoder().encode('Dear diary, '.repeat(200_000)) });
    expect((await load()).code).toBe('not_gguf');
    expect(await list()).toEqual([]);
  });

  it.each([false, true])(
    'that is full is told, and done without (unknown length: %s)',
    async (hidesLength) => {
      const protocol = await context.newCDPSession(page);
      const origin = new URL(server.url).origin;
      await protocol.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 2 * block });
      serve({ hidesLength });
      for (let i = 0; i < 2; ++i) {
        expect(await load()).toMatchObject({
          ...{ text: story, phases: fromNetwork, warnings: ['cache_full'] },
        });
      }
      expect(await list()).toEqual([]);
      await protocol.send('Storage.overrideQuotaForOrigin', { origin });
      await load();
      expect(await load()).toMatchObject({ text: story, phases: fromCache, warnings: [] });
    },
  );

  const denied = "() => Promise.reject(new DOMException('denied', 'SecurityError'))";
  const noFiles = `StorageManager.prototype.getDirectory = ${denied};`;
  const noHandles = `FileSystemFileHandle.prototype.createSyncAccessHandle = ${denied};`;
  const noCaches = `CacheStorage.prototype.open = ${denied};`;
  const prelude = (script: string) => server.preludes.set('/dist/worker/worker.js', script);

  it('without a file system is the Cache API', async () => {
    prelude(noFiles);
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    await load({ abortAt: half });
    expect(await list()).toEqual([{ path, isComplete: false }]);
    expect(await load()).toMatchObject({ text: story, phases: fromBoth, warnings: [] });
    expect(await load()).toMatchObject({ text: story, phases: fromCache, warnings: [] });
    serve({ etag: '"2"' });
    expect(await load()).toMatchObject({ text: story, phases: fromNetwork, warnings: [] });
    expect(await list()).toEqual([{ path, isComplete: true }]);
    await page.evaluate(() => new kinglet.ModelCache().clear());
    expect(
      await page.evaluate(async () => (await (await caches.open('kinglet')).keys()).length),
    ).toBe(0);
  });

  it('that is denied is told, and done without', async () => {
    serve();
    for (const script of [noFiles + noCaches, noHandles]) {
      prelude(script);
      expect(await load()).toMatchObject({ text: story, warnings: ['cache_unavailable'] });
    }
    expect(await list()).toEqual([]);
  });

  it('is shared by tabs that load the same file at once', async () => {
    serve({ faults: [{ byte: half, kind: () => undefined }] });
    const other = await newPage();
    const outcomes = await Promise.all([load(), loadInPage(other, path)]);
    for (const { text } of outcomes) expect(text).toBe(story);
    const again = await Promise.all([load(), loadInPage(other, path)]);
    for (const outcome of again) {
      expect(outcome).toMatchObject({ text: story, phases: fromCache, warnings: [] });
    }
  });

  it('is left alone while another tab downloads the file', async () => {
    serve({ faults: [{ byte: half, kind: 'stall' }] });
    const other = await newPage();
    void loadInPage(other, path).catch(() => undefined);
    await expect.poll(() => server.requests[0]?.sent).toBe(half);
    expect(await load()).toMatchObject({ text: story, warnings: ['cache_unavailable'] });
    await other.close();
    expect(await load()).toMatchObject({ text: story, phases: fromBoth });
  });

  it('tells what it holds, and forgets it', async () => {
    serve();
    server.files.set('/other.gguf', { bytes });
    await load();
    await loadInPage(page, '/other.gguf');
    const held = await page.evaluate(async (kept) => {
      const cache = new kinglet.ModelCache();
      const files = await cache.list();
      const size = await cache.size();
      await cache.delete(kept);
      const left = await cache.list();
      await cache.clear();
      return { files, size, left, end: await cache.size() };
    }, path);
    expect(held.files.map(({ url }) => new URL(url).pathname)).toEqual(['/other.gguf', path]);
    expect(held.size).toBeGreaterThanOrEqual(2 * bytes.length);
    expect(held.left.map(({ url }) => new URL(url).pathname)).toEqual(['/other.gguf']);
    expect(held.end).toBe(0);
  });
});

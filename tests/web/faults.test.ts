// Faults in a page that runs for hours, in headless Chromium: workers that die, downloads that are
// cut off, tabs that share a cache or go to sleep, users who change their mind. After each fault,
// the page must go on and generate the same story as without the fault.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { hideablePages } from './hideable-page.ts';
import { abortable, interruptInPage, operations } from './interruptions.ts';
import type { Interruptions } from './interruptions.ts';
import { loadInPage, nTokens, opening } from './loading-page.ts';
import type { PageLoadOptions } from './loading-page.ts';
import { seededRandom, storyModel, tellByCli, withChatTemplate } from './support.ts';

const bytes = new Uint8Array(readFileSync(storyModel));
const path = '/model.gguf';

let browser: Browser;
let server: FaultyServer;
let context: BrowserContext;
let page: Page;
let story: string;

beforeAll(async () => {
  browser = await launchHeadlessShell();
  server = await startFaultyServer({ isolated: true });
  story = tellByCli(opening, nTokens);
});

afterAll(async () => {
  await browser.close();
  server.close();
});

beforeEach(async () => {
  server.files.clear();
  server.preludes.clear();
  server.files.set(path, { bytes, etag: '"1"' });
  context = await browser.newContext(); // has its own storage
  page = await newPage();
});

afterEach(() => context.close());

async function newPage(): Promise<Page> {
  const opened = await context.newPage();
  await opened.goto(server.url);
  return opened;
}

const load = (options?: PageLoadOptions) => loadInPage(page, path, { cache: false, ...options });

describe('a worker that dies', () => {
  // The worker ends without a message, as when the browser or its user ends it, or with an error.
  const ends = {
    'is ended from outside': '',
    'closes itself': 'new BroadcastChannel("end").onmessage = () => close();',
    'closes itself, and its lock was granted late':
      `new BroadcastChannel("end").onmessage = () => close();` +
      `const locks = Object.getPrototypeOf(navigator.locks), { request } = locks;` +
      `locks.request = async function (...values) {` +
      `  await new Promise((resolve) => setTimeout(resolve, 3000));` +
      `  return request.apply(this, values);` +
      `};`,
    'throws an error': 'new BroadcastChannel("end").onmessage = () => { throw new Error("oh"); };',
  };
  for (const [how, prelude] of Object.entries(ends)) {
    it.each([1, 2])(`rejects what is running where it ${how}: %i threads`, async (nThreads) => {
      server.preludes.set('/dist/worker/worker.js', prelude);
      const codes = await page.evaluate(
        async ([from, prompt, threads, isOutside]) => {
          const codeOf = (thrown: unknown) => (thrown as { code?: string }).code;
          const workers: Worker[] = [];
          const { Worker: RealWorker } = globalThis;
          globalThis.Worker = class extends RealWorker {
            constructor(...values: ConstructorParameters<typeof Worker>) {
              super(...values);
              workers.push(this);
            }
          };
          const model = await kinglet.Kinglet.load(from, { nThreads: threads, cache: false });
          const other = await model.newSession();
          const generation = model.generate(prompt, { maxTokens: 500, temperature: 0 });
          const waiting = other.generate(prompt, { maxTokens: 500 }).result.catch(codeOf);
          let running: unknown;
          try {
            for await (const { token } of generation) {
              if (token < 0) continue;
              if (isOutside) workers[0]?.terminate();
              else new BroadcastChannel('end').postMessage('');
            }
          } catch (error) {
            running = codeOf(error);
          }
          const later = await model.tokenize(prompt).catch(codeOf);
          model.dispose();
          return [running, await waiting, later];
        },
        [path, opening, nThreads, prelude === ''] as const,
      );
      expect(codes).toEqual(Array(3).fill('worker_crashed'));
      server.preludes.clear();
      expect((await load({ nThreads })).text).toBe(story);
    });
  }

  it('rejects a load', async () => {
    server.preludes.set('/dist/worker/worker.js', 'setTimeout(close, 100);');
    server.files.set(path, { bytes, faults: [{ byte: 1000, kind: 'stall' }] });
    expect(await load()).toMatchObject({ text: undefined, code: 'worker_crashed' });
    server.preludes.clear();
    expect((await load()).text).toBe(story);
  });
});

describe('downloads', () => {
  it('that are cut at a hundred random bytes are whole in the end, and so are their copies', async () => {
    const random = seededRandom(1);
    const paths = Array.from({ length: 10 }, (_, i) => `/cut-${String(i)}.gguf`);
    for (const cut of paths) {
      const faults = Array.from({ length: 10 }, () => {
        return { byte: 1 + random(bytes.length - 1), kind: 'cut' as const };
      });
      faults.sort((a, b) => a.byte - b.byte);
      server.files.set(cut, { bytes, etag: '"1"', faults });
    }
    const outcomes = await Promise.all(paths.map((cut) => loadInPage(page, cut)));
    for (const { text, warnings } of outcomes) {
      expect({ text, warnings }).toEqual({ text: story, warnings: [] });
    }
    const digest = createHash('sha256').update(bytes).digest('hex');
    expect(await cachedDigests()).toEqual(Array(10).fill(digest));
    for (const cut of paths) expect(server.files.get(cut)!.faults).toEqual([]);
  });

  /** Returns the SHA-256 of the files in the cache, without the header at the start of each. */
  function cachedDigests(): Promise<string[]> {
    return page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle('kinglet');
      const digests: string[] = [];
      for await (const handle of folder.values()) {
        const file = await (handle as FileSystemFileHandle).getFile();
        const digest = await crypto.subtle.digest('SHA-256', await file.slice(32768).arrayBuffer());
        const digits = Array.from(new Uint8Array(digest), (byte) => byte.toString(16));
        digests.push(digits.map((two) => two.padStart(2, '0')).join(''));
      }
      return digests;
    });
  }
});

describe('a cached file', () => {
  it(
    'that is altered or cut at random is never taken for the model',
    { timeout: 120_000 },
    async () => {
      const random = seededRandom(2);
      await load({ cache: true });
      for (let i = 0; i < 30; ++i) {
        await damage(random(32768 + bytes.length), random(256), random(3) === 0);
        expect((await load({ cache: true })).text).toBe(story);
      }
      expect(await load({ cache: true })).toMatchObject({ phases: ['cache', 'prepare'] });
    },
  );

  /** Changes a byte of the only file in the cache, or cuts the file at that position. */
  async function damage(position: number, byte: number, isCut: boolean): Promise<void> {
    await page.evaluate(
      async ([at, value, cut]) => {
        const root = await navigator.storage.getDirectory();
        const folder = await root.getDirectoryHandle('kinglet');
        for await (const handle of folder.values()) {
          const stream = await (handle as FileSystemFileHandle).createWritable({
            keepExistingData: true,
          });
          if (cut) await stream.truncate(at);
          else await stream.write({ type: 'write', position: at, data: Uint8Array.of(value) });
          await stream.close();
        }
      },
      [position, byte, isCut] as const,
    );
  }
});

describe('a page without HTTPS', () => {
  it('has neither storage nor locks, and does without', async () => {
    await context.route('http://kinglet.test/**', async (route) => {
      const { pathname } = new URL(route.request().url());
      const response = await route.fetch({ url: new URL(pathname, server.url).href });
      await route.fulfill({ response });
    });
    await page.goto('http://kinglet.test/');
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    expect(await load({ cache: true })).toMatchObject({
      ...{ text: story, phases: ['download', 'prepare'], warnings: ['cache_unavailable'] },
    });
    const files = await page.evaluate(async (kept) => {
      const cache = new kinglet.ModelCache();
      await cache.delete(kept);
      return cache.list();
    }, path);
    expect(files).toEqual([]);
  });
});

describe('two tabs', () => {
  const withoutLocks = "Object.defineProperty(navigator, 'locks', { value: undefined });";
  const withoutFiles =
    "StorageManager.prototype.getDirectory = () => Promise.reject(new Error('none'));";
  it.each([
    ['with locks', ''],
    ['without locks', withoutLocks],
    ['in the Cache API', withoutFiles],
    ['in the Cache API, without locks', withoutFiles + withoutLocks],
  ])('may load the same file, and one that changes, at once: %s', async (_, prelude) => {
    server.preludes.set('/dist/worker/worker.js', prelude);
    const whole = { text: story, message: undefined };
    const tabs = [page, await newPage()];
    const loadAll = () => Promise.all([...tabs, ...tabs].map((tab) => loadInPage(tab, path)));
    for (const etag of ['"1"', '"2"']) {
      server.files.set(path, { bytes, etag });
      for (const outcome of await loadAll()) expect(outcome).toMatchObject(whole);
    }
    // One tab gets one version of the file while another gets the next version.
    const old = bytes.map((byte, i) => (i < bytes.length / 2 ? byte : ~byte));
    server.files.set(path, {
      ...{ bytes: old, etag: '"3"' },
      faults: [{ byte: 1 << 20, kind: () => server.files.set(path, { bytes, etag: '"4"' }) }],
    });
    await loadAll();
    for (let i = 0; i < 2; ++i) {
      for (const outcome of await loadAll()) expect(outcome).toMatchObject(whole);
    }
  });
});

describe('a page that was hidden and frozen', () => {
  it('goes on with the same story', async () => {
    const open = await hideablePages(browser);
    const hideable = await open(server.url);
    await expect.poll(() => hideable.evaluate(() => 'kinglet' in globalThis)).toBe(true);
    const telling = hideable.evaluate(
      async (from, prompt) => {
        const states: string[] = [];
        for (const event of ['visibilitychange', 'freeze', 'resume']) {
          document.addEventListener(event, () => states.push(document.visibilityState, event));
        }
        // A long story of another machine's kernels is the same only where less is rounded.
        const options = { nThreads: 2, cache: false, kv: 'f32' } as const;
        const model = await kinglet.Kinglet.load(from, options);
        let text = '';
        for await (const piece of model.generate(prompt, { maxTokens: 200, temperature: 0 })) {
          text += piece.text;
          if (text.length < 50) continue;
          document.title = 'Telling';
          // Waits here, so that the story does not end before the page is hidden.
          while (!states.includes('resume')) await nextTask();
        }
        model.dispose();
        return { states: [...new Set(states)], text };
        function nextTask() {
          return new Promise((resolve) => setTimeout(resolve, 5));
        }
      },
      path,
      opening,
    );
    await expect.poll(() => hideable.evaluate(() => document.title)).toBe('Telling');
    const other = await open('about:blank');
    await other.activate();
    await hideable.setFrozen(true);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await hideable.setFrozen(false);
    await hideable.activate();
    const { states, text } = await telling;
    expect(text).toBe(tellByCli(opening, 200, ['--kv', 'f32']));
    expect(states).toEqual(expect.arrayContaining(['hidden', 'freeze', 'resume']));
  });
});

const chatPath = '/chat.gguf';
const interrupt = (interruptions: Interruptions) => {
  const template = '{{ messages[0].content }}';
  server.files.set(chatPath, { bytes: withChatTemplate(bytes, template) });
  return interruptInPage(page, chatPath, story, interruptions);
};

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

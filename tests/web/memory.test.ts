// The memory of a model: it is predicted from the header, and the loaded model takes no more.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet } from 'kinglet';
import type { KingletError, ModelInfo } from 'kinglet';
import { openAI } from 'kinglet/openai';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { checkModelBytes, planMemory } from '../../web/src/worker/memory-plan.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { loadInPage } from './loading-page.ts';
import { deepModel } from './split-model.ts';
import { root, storyModel } from './support.ts';

const mib = 2 ** 20;
const gib = 2 ** 30;
const bytes = new Uint8Array(readFileSync(storyModel));

describe('what is reserved', () => {
  // As for Llama 3.2 3B.
  const needs = (nCtx: number) => ({
    ...{ nCtx, stateBytes: nCtx * 28 * 8 * 2 * 128 * 4, scratchBytes: 20 * mib },
  });

  it('is what the model takes and what is to be spared, then less', () => {
    const maxima = planMemory(2 * gib, needs(4096), 400 * mib);
    const needed = 2 * gib + needs(4096).stateBytes + (20 + 64) * mib;
    expect(maxima).toEqual([needed + 400 * mib, needed + 100 * mib, needed]);
  });

  it('is tried from the most to little where nothing is known', () => {
    expect(planMemory(0, undefined, 0)).toEqual([4 * gib, 2 * gib, gib, gib / 2]);
    expect(planMemory(gib, undefined, 0)).toEqual([4 * gib, 3 * gib, 2 * gib, 1.5 * gib]);
  });

  it('is never more than there can be', () => {
    expect(planMemory(2 * gib, needs(8192), 2 ** 28)[0]).toBe(4 * gib);
  });

  it('cannot hold all models: the error says what would fit', () => {
    expect(() => {
      checkModelBytes(3.6 * gib);
    }).toThrow(/3.87 GB.*at most 3.76 GB.*smaller quantization$/);
    expect(() => {
      checkModelBytes(4 * gib, gib);
    }).toThrow(/4.29 GB.*1.07 GB of them need no memory.*from a file/);
    expect(() => planMemory(2 * gib, needs(16_384), 0)).toThrow(/KV cache for 16384 tokens.*nCtx/);
  });
});

// Makes the model so large that a second copy of it would be noticed.
const nLayers = 160;

describe('a large model', { timeout: 180_000 }, () => {
  const large = deepModel(bytes, nLayers);
  const options = { nCtx: 64, cache: true };
  let browser: Browser;
  let context: BrowserContext;
  let server: FaultyServer;

  beforeAll(async () => {
    browser = await launchHeadlessShell();
    context = await browser.newContext();
    server = await startFaultyServer({ isolated: true });
    server.files.set('/large.gguf', { bytes: large, etag: '"1"' });
    server.files.set('/unmeasured.gguf', { bytes: large, hidesLength: true });
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });

  function allowed({ memory }: ModelInfo): number {
    return large.length + memory.kvBytes + memory.scratchBytes + 64 * mib;
  }

  async function openPage(prelude = '') {
    server.preludes.set('/dist/worker/worker.js', prelude);
    const page = await context.newPage();
    onTestFinished(() => page.close());
    await page.goto(server.url);
    return page;
  }

  it.each([
    ['from the network', '/large.gguf', 'download'],
    ['from the cache', '/large.gguf', 'cache'],
    ['of unknown length', '/unmeasured.gguf', 'download'],
  ])('takes its file, cache and scratch, and at most 64 MiB: %s', async (_, path, phase) => {
    const page = await openPage();
    for (const nThreads of [1, 2]) {
      const { info, phases } = await loadInPage(page, path, {
        ...{ ...options, nThreads },
        cache: path === '/large.gguf' && (nThreads === 1 || phase === 'cache'),
      });
      if (nThreads === 1 || phase === 'cache') expect(phases).toEqual([phase, 'prepare']);
      expect(info!.runtime.nThreads).toBe(nThreads);
      expect(info!.memory.heapBytes).toBeGreaterThan(large.length);
      expect(info!.memory.heapBytes).toBeLessThanOrEqual(allowed(info!));
    }
  });

  it('takes no more from the cache than from the network, of all memory of a process', async () => {
    await (await openPage()).evaluate(() => new kinglet.ModelCache().clear());
    for (const phase of ['download', 'cache']) {
      for (const opened of context.pages()) await opened.close();
      // Waits until no process is left, or only one that has loaded nothing.
      await expect
        .poll(async () => Math.max(0, ...(await peaksOfRenderers())))
        .toBeLessThan(large.length + 40 * mib);
      const page = await openPage();
      const before = Math.max(...(await peaksOfRenderers()));
      const { info, phases } = await loadInPage(page, '/large.gguf', { ...options, nThreads: 1 });
      expect(phases[0]).toBe(phase);
      const grown = Math.max(...(await peaksOfRenderers())) - before;
      const garbage = 32 * mib; // buffers not collected yet, now or when the page opened
      expect(grown).toBeGreaterThan(large.length - garbage);
      expect(grown).toBeLessThan(allowed(info!) + garbage);
    }
  });

  /** Returns the peak memory of each renderer process in bytes. */
  async function peaksOfRenderers(): Promise<number[]> {
    const protocol = await browser.newBrowserCDPSession();
    const { processInfo } = await protocol.send('SystemInfo.getProcessInfo');
    await protocol.detach();
    return processInfo
      .filter(({ type }) => type === 'renderer')
      .map(({ id }) => readFileSync(`/proc/${String(id)}/status`, 'utf8'))
      .map((status) => Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
  }

  /** Returns a script that refuses shared memory above a limit and logs each requested size. */
  const limited = (limit: number) => `{
    const { Memory } = WebAssembly;
    WebAssembly.Memory = function (descriptor) {
      const bytes = descriptor.maximum * 65536;
      if (descriptor.shared) console.log('reserve ' + bytes);
      if (descriptor.shared && bytes > ${String(limit)}) throw new RangeError('refused');
      return new Memory(descriptor);
    };
    WebAssembly.Memory.prototype = Memory.prototype;
  }`;

  it.each([
    ['all of it is granted', 4 * gib, 1, 2],
    ['only what is needed', large.length + 108 * mib, 3, 2],
    ['nothing', 0, 0, 1],
  ])(
    'reserves what fits it and runs with what there is: %s',
    async (_, limit, nAsked, nThreads) => {
      const page = await openPage(limited(limit));
      const asked: number[] = [];
      page.on('console', (message) => {
        const [, size] = /^reserve (\d+)$/.exec(message.text()) ?? [];
        if (size) asked.push(Number(size));
      });
      const { info, text } = await loadInPage(page, '/large.gguf', { ...options, nThreads: 2 });
      expect(text).toBeTruthy();
      expect(info!.runtime.nThreads).toBe(nThreads);
      expect(info!.runtime.singleThreadReason).toBe(nThreads === 1 ? 'refused' : undefined);
      // An engine with little memory plans first; without it, there are no threads.
      const ofPlanner = limit < 2 ** 28 ? [2 ** 28, 2 ** 26] : [2 ** 28];
      expect(asked.splice(0, ofPlanner.length)).toEqual(ofPlanner);
      expect(asked).toHaveLength(nAsked);
      expect(Math.max(...asked)).toBeLessThan(allowed(info!) + 2 ** 28 + 2 * mib);
      expect(asked).toEqual(asked.toSorted((a, b) => b - a));
    },
  );

  it('that is too large is refused before it is downloaded', async () => {
    const page = await openPage();
    server.files.set('/huge.gguf', { bytes: large, announcedBytes: 3.75 * gib });
    server.requests.length = 0;
    const outcome = await loadInPage(page, '/huge.gguf', options);
    expect(outcome).toMatchObject({ text: undefined, code: 'too_large', phases: [] });
    expect(await page.evaluate(() => new kinglet.ModelCache().size())).toBeLessThan(
      2 * large.length,
    );
    await expect.poll(() => server.requests[0]!.isClosed).toBe(true);
    expect(server.requests[0]!.sent).toBeLessThan(large.length / 2);

    const tooMany = { ...options, nCtx: 100_000 };
    const short = await loadInPage(page, '/large.gguf', tooMany);
    expect(short).toMatchObject({ text: undefined, code: 'invalid_argument', phases: [] });
    const long = large.slice();
    const key = 'llama.context_length';
    const at = Buffer.from(long.buffer).indexOf(key) + key.length + 4;
    new DataView(long.buffer).setUint32(at, 2 ** 17, true);
    server.files.set('/long.gguf', { bytes: long });
    const wide = await loadInPage(page, '/long.gguf', tooMany);
    expect(wide).toMatchObject({ text: undefined, code: 'too_large', phases: [] });
  });

  it('takes no more natively', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    const file = join(folder, 'large.gguf');
    writeFileSync(file, large);
    const kvBytes = 64 * nLayers * 2 * 128 * 4;
    const run = (limitBytes: number) =>
      spawnSync(
        'bash',
        [
          ...['-c', 'ulimit -v $1; shift; exec "$@"', 'limited', String(limitBytes >> 10)],
          ...[`${root}build/native/kinglet`, 'generate', '-m', file, '-p', 'Once', '-n', '1'],
          ...['--ctx', '64', '--threads', '1', '--temp', '0'],
        ],
        { encoding: 'utf8' },
      );
    expect(run(large.length + kvBytes + 64 * mib)).toMatchObject({ status: 0 });
    expect(run(large.length / 2).status).not.toBe(0); // the limit takes effect
  });
});

describe('a request that is too large', () => {
  it('is refused in words, and the model goes on', async () => {
    const chatTemplate = '{{ messages | length }}';
    using model = await Kinglet.load(bytes.slice(), {
      nThreads: 2,
      chatTemplate,
      spareMemory: 2 ** 27,
    });
    const roles = ['user', 'assistant'] as const;
    const messages = Array.from({ length: 150_001 }, (_, i) => ({
      ...{ role: roles[i % 2]!, content: '' },
    }));
    const answers = [
      model.chat(messages, { maxTokens: 1 }).result,
      openAI(model).chat.completions.create({ messages, max_tokens: 1 }),
    ];
    for (const answer of answers) {
      const error = await answer.then(
        () => undefined,
        (reason: unknown) => reason as KingletError,
      );
      expect(error?.code).toBe('out_of_memory');
      expect(error?.message).toMatch(/a request of \d MiB needs \d+ bytes/);
    }
    const long = 'a '.repeat(2 ** 20);
    const options = { maxTokens: 1 };
    expect((await model.chat(long, options).result).usage.completionTokens).toBe(1);
    expect((await model.chat([{ role: 'user', content: 'a' }], options).result).text).not.toBe('');
  });
});

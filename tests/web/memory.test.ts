// The memory of a model: it is predicted from the header, and the loaded model takes no more.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet } from 'kinglet';
import type { ModelInfo } from 'kinglet';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchHeadlessShell } from '../../scripts/chromium.mjs';
import { postedLoadOptions } from '../../web/src/options.ts';
import { kvCacheBytes, planMemory } from '../../web/src/worker/memory-plan.ts';
import type { ModelShape } from '../../web/src/worker/model-shape.ts';
import { readHeader } from '../../web/src/worker/model-shape.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { loadInPage } from './loading-page.ts';
import { deepModel } from './split-model.ts';
import { root, storyModel, vocabularyOf } from './support.ts';

const mib = 2 ** 20;
const gib = 2 ** 30;
const bytes = new Uint8Array(readFileSync(storyModel));

function shapeOf(file: Uint8Array): ModelShape {
  const header = readHeader(file);
  if (typeof header !== 'object' || !header.shape) throw new Error('no shape');
  return header.shape;
}

/** Returns the beginning of a file of a llama model with these sizes. */
function headerOf(sizes: Record<string, number | number[]>): Uint8Array {
  const header: number[] = [];
  const add = (value: number, nBytes: number) => {
    for (let i = 0; i < nBytes; ++i) header.push(Math.floor(value / 256 ** i) % 256);
  };
  const addText = (text: string) => {
    add(text.length, 8);
    header.push(...new TextEncoder().encode(text));
  };
  const [uint32, string, array] = [4, 8, 9];
  header.push(...new TextEncoder().encode('GGUF'));
  add(3, 4); // version
  add(1, 8); // tensors
  add(1 + Object.keys(sizes).length, 8);
  addText('general.architecture');
  add(string, 4);
  addText('llama');
  for (const [key, value] of Object.entries(sizes)) {
    addText(`llama.${key}`);
    if (Array.isArray(value)) {
      add(array, 4);
      add(uint32, 4);
      add(value.length, 8);
      for (const each of value) add(each, 4);
    } else {
      add(uint32, 4);
      add(value, 4);
    }
  }
  addText('token_embd.weight');
  for (const [value, nBytes] of [
    [2, 4],
    [48, 8],
    [7, 8],
    [0, 4],
    [0, 8],
  ] as const) {
    add(value, nBytes); // 7 rows of 48 floats, at the beginning of the data
  }
  return Uint8Array.from(header);
}

describe('the shape in a header', () => {
  it('is read as soon as the metadata are there, and asks for more before', () => {
    const shape = shapeOf(bytes);
    expect(shape).toEqual({
      ...{ contextLength: 512, nKeptHeads: 6 * 2, hiddenDim: 256, nHeads: 4, nKvHeads: 2 },
      ...{
        makesText: true,
        nWindowHeads: 0,
        window: 0,
        nRecurrent: 0,
        recurrentDim: 0,
        ffnDim: shape.ffnDim,
        keyDim: 64,
        valueDim: 64,
        windowKeyDim: 64,
        windowValueDim: 64,
        layerInputDim: 0,
        vocabSize: 2048,
        tables: [], // the embeddings also make the logits
      },
    });
    for (const length of [0, 3, 4, 23, 24, 100, 1000, 10_000]) {
      expect(readHeader(bytes.subarray(0, length))).toBe('more');
    }
  });

  it('has no layers where there are no weights', () => {
    expect(shapeOf(vocabularyOf(bytes))).toEqual({ ...shapeOf(bytes), nKeptHeads: 0 });
  });

  it('counts the heads of layers that differ', () => {
    const sizes = { block_count: 4, context_length: 32, embedding_length: 48 };
    const heads = { 'attention.head_count': [4, 2, 6, 1], 'attention.head_count_kv': [2, 1, 6, 1] };
    expect(shapeOf(headerOf({ ...sizes, ...heads }))).toMatchObject({
      ...{ nKeptHeads: 10, nHeads: 6, nKvHeads: 6, keyDim: 12, valueDim: 12 },
    });
    const alike = { ...sizes, 'attention.head_count': [4, 2, 6, 1] }; // for keys too
    expect(shapeOf(headerOf(alike))).toMatchObject({ nKeptHeads: 13, nKvHeads: 6 });
    const one = { ...sizes, 'attention.head_count': 6, 'attention.head_count_kv': 3 };
    expect(shapeOf(headerOf(one))).toMatchObject({ nKeptHeads: 12, keyDim: 8 });
  });

  it('tells layers with a window from those that see all', () => {
    const sizes = { block_count: 4, context_length: 32, embedding_length: 48 };
    const heads = { 'attention.head_count': 4, 'attention.head_count_kv': [2, 1, 6, 1] };
    const of = (more: Record<string, number | number[]>) =>
      shapeOf(headerOf({ ...sizes, ...heads, ...more }));
    const window = { 'attention.sliding_window': 9 };
    expect(of({})).toMatchObject({ nKeptHeads: 10, nWindowHeads: 0, window: 0 });
    expect(of(window)).toMatchObject({ nKeptHeads: 10, nWindowHeads: 10, window: 9 });
    const everyThird = { ...window, 'attention.sliding_window_pattern': 3 };
    expect(of(everyThird)).toMatchObject({ nKeptHeads: 10, nWindowHeads: 4, window: 9 });
    const listed = { ...window, 'attention.sliding_window_pattern': [1, 0, 0, 1] };
    expect(of(listed)).toMatchObject({ nKeptHeads: 10, nWindowHeads: 3, window: 9 });
  });

  it('leaves out layers that read the rows of others, and knows two sizes of heads', () => {
    const shape = shapeOf(new Uint8Array(readFileSync(`${root}tests/fixtures/arch/gemma4.gguf`)));
    expect(shape).toMatchObject({
      ...{ nKeptHeads: 6, nWindowHeads: 4, window: 8, layerInputDim: 80, ffnDim: 80 },
      ...{ keyDim: 20, valueDim: 20, windowKeyDim: 12, windowValueDim: 12 },
    });
  });

  it('is not made of what is no GGUF file, or a hostile one', () => {
    expect(readHeader(new TextEncoder().encode('Dear diary, '.repeat(9)))).toBeUndefined();
    for (let seed = 1; seed < 2000; ++seed) {
      const file = bytes.slice(0, 60_000);
      for (let i = 0, x = seed; i < 8; ++i) {
        x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
        file[8 + (x % 2000)] = x >>> 24;
      }
      readHeader(file); // neither throws nor hangs
    }
  });

  const folder = `${root}tests/fixtures/`;
  const models = ['arch/', 'hybrid/'].flatMap((kind) =>
    readdirSync(folder + kind)
      .filter((name) => name.endsWith('.gguf'))
      .map((name) => kind + name),
  );
  it.each(models)('foretells what the engine takes, and little more: %s', async (name) => {
    const file = new Uint8Array(readFileSync(folder + name));
    for (const kv of ['f32', 'int8', 'q4'] as const) {
      const model = await Kinglet.load(file, { nThreads: 1, kv });
      const { kvBytes, recurrentBytes, scratchBytes } = model.info.memory;
      const stateBytes = kvBytes + recurrentBytes;
      model.dispose();
      const options = postedLoadOptions({ kv, spareMemory: 0 });
      const [most = 0] = planMemory(file.length, shapeOf(file), options).maxima;
      expect(most - file.length).toBeGreaterThan(stateBytes + scratchBytes + 60 * mib);
      expect(most - file.length).toBeLessThan(2 * (stateBytes + scratchBytes) + 65 * mib);
    }
  });
});

describe('the keys and values of a long context', () => {
  const windowed = [
    'arch/gemma2',
    'arch/gemma3',
    'arch/gemma4',
    'arch/gemma4-kv',
    'arch/olmo2-window',
    'hybrid/lfm2-window',
  ];
  it.each(windowed)('are foretold but for what aligns pages: %s', async (name) => {
    const file = new Uint8Array(readFileSync(`${root}tests/fixtures/${name}.gguf`));
    const key = '.context_length';
    const at = Buffer.from(file.buffer).indexOf(key) + key.length + 4;
    new DataView(file.buffer).setUint32(at, 8192, true); // the model works with any length
    for (const kv of ['f32', 'int8', 'q4'] as const) {
      for (const nCtx of [512, 2048, 8192]) {
        const model = await Kinglet.load(file, { nThreads: 1, nCtx, kv });
        const { kvBytes } = model.info.memory;
        model.dispose();
        const foretold = kvCacheBytes(shapeOf(file), nCtx, { k: kv, v: kv });
        expect(kvBytes / foretold).toBeGreaterThanOrEqual(1);
        expect(kvBytes / foretold).toBeLessThan(1.02);
        const ofAll = kvCacheBytes({ ...shapeOf(file), window: 0 }, nCtx, { k: kv, v: kv });
        expect(foretold < ofAll).toBe(nCtx > 2000);
      }
    }
  });
});

describe('the plan', () => {
  // Llama 3.2 3B: 24 query heads, 8 heads of keys and values.
  const shape: ModelShape = {
    ...{ contextLength: 131_072, nKeptHeads: 28 * 8, hiddenDim: 3072, nHeads: 24, nKvHeads: 8 },
    ...{ ffnDim: 8192, keyDim: 128, valueDim: 128, vocabSize: 128_256 },
    ...{ nWindowHeads: 0, window: 0, nRecurrent: 0, recurrentDim: 0, makesText: true },
    ...{ windowKeyDim: 128, windowValueDim: 128, layerInputDim: 0 },
    tables: [],
  };

  it('reserves what the model takes and what is to be spared, then less', () => {
    const { maxima } = planMemory(2 * gib, shape, postedLoadOptions({ spareMemory: 400 * mib }));
    const kvBytes = 4096 * 28 * 8 * 2 * 128 * 4;
    expect(maxima).toHaveLength(3);
    expect(maxima[2]).toBeGreaterThan(2 * gib + kvBytes);
    expect(maxima[2]).toBeLessThan(2 * gib + kvBytes + 128 * mib);
    expect(maxima.map((bytes) => bytes - maxima[2]!)).toEqual([400 * mib, 100 * mib, 0]);
  });

  it('tries one after the other where nothing is known', () => {
    const options = postedLoadOptions({});
    for (const plan of [planMemory(undefined, shape, options), planMemory(1, undefined, options)]) {
      expect(plan.maxima).toEqual([4 * gib, 2 * gib, gib, gib / 2]);
    }
  });

  it('takes no cache for an encoder, but room for its longest text', () => {
    // nomic-embed-text-v1.5
    const nomic = {
      ...{ contextLength: 2048, nKeptHeads: 12, hiddenDim: 768, nHeads: 12, nKvHeads: 12 },
      ...{ ffnDim: 3072, keyDim: 64, valueDim: 64, vocabSize: 30_522 },
      ...{ nWindowHeads: 0, window: 0, nRecurrent: 0, recurrentDim: 0, makesText: false },
      ...{ windowKeyDim: 64, windowValueDim: 64, layerInputDim: 0 },
      tables: [],
    };
    const { maxima } = planMemory(137 * mib, nomic, postedLoadOptions({ spareMemory: 0 }));
    const rows = 2048 * 4 * 3 * 768; // the residual stream, keys and values
    expect(maxima[2]).toBeGreaterThan(137 * mib + rows + 64 * mib);
    expect(maxima[2]).toBeLessThan(137 * mib + rows + 64 * mib + 40 * mib);
  });

  it('counts the states of recurrent layers, and their checkpoints', () => {
    // Qwen 3.5 0.8B: 6 layers of attention, 18 states of 16 heads of 128 × 128.
    const nRecurrent = 18 * (16 * 128 * 128 + 3 * 6144);
    const hybrid = { ...shape, nKeptHeads: 6 * 8, nRecurrent, recurrentDim: 6144 };
    const attention = { ...shape, nKeptHeads: 6 * 8 };
    const plain = planMemory(gib, attention, postedLoadOptions({ spareMemory: 0 }));
    const plan = planMemory(gib, hybrid, postedLoadOptions({ spareMemory: 0 }));
    const more = plan.maxima[0]! - plain.maxima[0]!;
    const nCheckpoints = Math.floor((96 * mib) / (4 * nRecurrent));
    expect(nCheckpoints).toBe(4);
    expect(more).toBeGreaterThan((3 + nCheckpoints) * 4 * nRecurrent);
    expect(more).toBeLessThan((3 + nCheckpoints) * 4 * nRecurrent + 16 * mib);
  });

  it('leaves in the file what may stay there, and says what could', () => {
    const table = { bytes: gib + 32, rowBytes: 4096 };
    const untied = { ...shape, tables: [table, { bytes: 2 ** 20, rowBytes: 64 }] };
    const plan = (isStored: boolean, embeddingTables: 'auto' | 'file' | 'memory' = 'auto') =>
      planMemory(4 * gib, untied, postedLoadOptions({ nCtx: 16, embeddingTables }), isStored);
    expect(plan(true).storedBytes).toBe(gib);
    expect(plan(true, 'file').storedBytes).toBe(gib + 2 ** 20);
    expect(plan(true).maxima[2]).toBeLessThan(3.2 * gib);
    expect(() => plan(true, 'memory')).toThrow(/4.29 GB.*smaller quantization$/);
    expect(() => plan(false)).toThrow(/4.29 GB.*1.07 GB of it need no memory.*from a file/);
  });

  it('refuses what cannot fit, and says what would', () => {
    const plan = (modelBytes: number, nCtx: number) =>
      planMemory(modelBytes, shape, postedLoadOptions({ nCtx }));
    expect(() => plan(3.6 * gib, 16)).toThrow(/3.87 GB.*3.76 GB at most.*smaller quantization/);
    expect(() => plan(2 * gib, 16_384)).toThrow(/KV cache for 16384 tokens.*nCtx/);
    expect(plan(2 * gib, 8192).maxima[0]).toBeLessThanOrEqual(4 * gib);
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
    ['nothing', 0, 3, 1],
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
      expect(asked).toHaveLength(nAsked);
      // The plan counts tables of sums, which only weights of one or two bits need.
      expect(asked[0]).toBeLessThan(allowed(info!) + 2 ** 28 + 2 * mib);
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

    const wide = await loadInPage(page, '/large.gguf', { ...options, nCtx: 100_000 });
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

// estimate(): what it says of a model before it is loaded is what loading it finds.
import { readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { estimate, Kinglet, KingletError } from '../../dist/index.js';
import type { ModelEstimate } from '../../dist/index.js';
import type { AnyPage } from './any-browser.ts';
import { browserNames, openAnyPage, openKinglet } from './any-browser.ts';
import { startFaultyServer } from './faulty-server.ts';
import type { Fault, FaultyServer } from './faulty-server.ts';
import { root, storyModel } from './support.ts';

const story = new Uint8Array(readFileSync(storyModel));

/** The story model with another number after a metadata key. */
function withUint32(name: string, value: number): Uint8Array<ArrayBuffer> {
  const copy = Buffer.from(story);
  copy.writeUInt32LE(value, copy.indexOf(name) + name.length + 4);
  return new Uint8Array(copy);
}

function withArchitecture(name: string): Uint8Array<ArrayBuffer> {
  const copy = Buffer.from(story);
  const key = 'general.architecture';
  copy.write(name, copy.indexOf(key) + key.length + 12);
  return new Uint8Array(copy);
}

const speeds = ({ tokensPerSecond, promptTokensPerSecond }: ModelEstimate) => [
  tokensPerSecond,
  promptTokensPerSecond,
];
const positive = expect.toSatisfy((n) => Number.isFinite(n) && n > 0) as number;

describe('in Node', () => {
  it.each([{ nThreads: 2 }, { nThreads: 1, nCtx: 64 }, { worker: 'here' as const }])(
    'says with %j what load() finds',
    async (options) => {
      const estimated = await estimate(storyModel, options);
      const model = await Kinglet.load(storyModel, options);
      const { runtime, memory, nCtx, kv } = model.info;
      model.dispose();
      const { weightBytes, scratchBytes, kvBytes, recurrentBytes } = memory;
      const stateBytes = kvBytes + recurrentBytes;
      expect(estimated).toMatchObject({
        ...{ fits: true, problem: undefined, fileBytes: story.length },
        plan: { nCtx, kv, weightBytes, scratchBytes, stateBytes },
        runtime,
      });
      expect(estimated.memoryBytes).toBeGreaterThan(weightBytes + scratchBytes + stateBytes);
      expect(estimated.deviceMemoryBytes).toBeGreaterThan(2 ** 28);
      expect(speeds(estimated)).toEqual([positive, positive]);
    },
  );

  it('counts the file for pictures', async () => {
    const textModel = `${root}tests/fixtures/arch/smollm3.gguf`;
    const mmproj = `${root}tests/fixtures/vision/idefics3-old.gguf`;
    const alone = await estimate(textModel, { nThreads: 1 });
    const both = await estimate(textModel, { nThreads: 1, mmproj });
    const { size } = statSync(mmproj);
    expect(both.fileBytes).toBe(alone.fileBytes! + size);
    expect(both.memoryBytes).toBe(alone.memoryBytes! + size);
    expect(both.plan).toEqual(alone.plan);
  });

  it('knows that an embedding model makes no text', async () => {
    const encoder = `${root}tests/fixtures/encoder/nomic-bert.gguf`;
    expect(speeds(await estimate(encoder))).toEqual([undefined, positive]);
  });

  it.each([
    ['is too large', withUint32('llama.context_length', 4e8), { nCtx: 4e8 }, 'too_large'],
    ['is of an unknown kind', withArchitecture('zebra'), {}, 'unsupported_architecture'],
  ])('says that a model does not fit that %s', async (_, bytes, options, code) => {
    const estimated = await estimate(bytes, { nThreads: 1, ...options });
    expect(estimated).toMatchObject({ fits: false, problem: { code }, fileBytes: bytes.length });
    expect(estimated.problem).toBeInstanceOf(KingletError);
    expect(speeds(estimated)).toEqual([undefined, undefined]);
    await expect(Kinglet.load(bytes, { nThreads: 1, ...options })).rejects.toMatchObject({ code });
  });

  it('rejects what is not a model, wrong options, and an aborted call', async () => {
    const rejects = (promise: Promise<unknown>, error: object) =>
      expect(promise).rejects.toMatchObject(error);
    await rejects(estimate(new Blob(['Dear diary'.repeat(9)])), { code: 'not_gguf' });
    await rejects(estimate(story.slice(0, 1000)), { code: 'truncated' });
    await rejects(estimate('no/such/file.gguf'), { code: 'io' });
    await rejects(estimate(story, { nThreads: 0 }), { code: 'invalid_argument' });
    await rejects(estimate(story, { kernels: 'mmx' }), { code: 'invalid_argument' });
    await rejects(estimate(story, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  });
});

describe.each(browserNames)('in %s', (name) => {
  const padding = new Uint8Array(256 * 2 ** 20); // is not read
  let server: FaultyServer;
  let page: AnyPage;
  beforeAll(async () => {
    server = await startFaultyServer({ isolated: true });
    // A file whose rest never comes: a fast server would have sent it before the page can stop it.
    const faults: Fault[] = [{ byte: story.length + (1 << 20), kind: 'stall' }];
    server.files.set('/story.gguf', {
      bytes: Buffer.concat([story, padding]),
      etag: '"1"',
      faults,
    });
    page = await openAnyPage(name);
    await openKinglet(page, server.url);
  }, 90_000);
  afterAll(async () => {
    await page.close();
    server.close();
  });

  it('reads only the beginning of a file', async () => {
    const estimated = await page.evaluate(async () => {
      const { problem, ...rest } = await kinglet.estimate('story.gguf', { nThreads: 2 });
      return { ...rest, code: problem?.code ?? 'none' };
    });
    expect(estimated).toMatchObject({ fits: true, code: 'none', runtime: { nThreads: 2 } });
    expect(estimated.tokensPerSecond).toEqual(positive);
    await expect.poll(() => server.requests[0]!.isClosed).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it('compares the memory with the device’s, where the browser tells it', async () => {
    const [known, fits, code] = await page.evaluate(async () => {
      const { deviceMemoryBytes } = await kinglet.estimate('story.gguf');
      Object.defineProperty(navigator, 'deviceMemory', { value: 2 ** -6, configurable: true });
      const { fits: small, problem } = await kinglet.estimate('story.gguf');
      delete (navigator as { deviceMemory?: number }).deviceMemory;
      return [deviceMemoryBytes ?? 0, small, problem?.code] as const;
    });
    expect(known > 0).toBe(name === 'Chromium');
    expect([fits, code]).toEqual([false, 'out_of_memory']);
  });
});

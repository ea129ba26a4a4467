// The cache in a folder, in Node.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kinglet, ModelCache } from 'kinglet';
import type { LoadPhase } from 'kinglet';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startFaultyServer } from './faulty-server.ts';
import type { FaultyServer } from './faulty-server.ts';
import { storyModel } from './support.ts';

const bytes = new Uint8Array(readFileSync(storyModel));
const half = 2 * 2 ** 20 + 5000;

let folder: string;
let server: FaultyServer;
let url: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinglet-'));
  server = await startFaultyServer();
  url = `${server.url}model.gguf`;
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

async function load(signal?: AbortSignal, onLoaded?: (loaded: number) => void) {
  const phases = new Set<LoadPhase>();
  const warnings: string[] = [];
  const model = await Kinglet.load(url, {
    ...{ nThreads: 1, cache: folder, signal },
    onWarning: ({ code }) => warnings.push(code),
    onProgress: ({ phase, loaded }) => {
      phases.add(phase);
      onLoaded?.(loaded);
    },
  });
  const { nLayers } = model.info;
  model.dispose();
  return { nLayers, phases: [...phases], warnings };
}

it('keeps a file, tells of it, and forgets it', async () => {
  server.files.set('/model.gguf', { bytes, etag: '"1"' });
  expect(await load()).toEqual({ nLayers: 6, phases: ['download', 'prepare'], warnings: [] });
  expect(await load()).toEqual({ nLayers: 6, phases: ['cache', 'prepare'], warnings: [] });
  const cache = new ModelCache(folder);
  expect(await cache.list()).toMatchObject([{ url, isComplete: true }]);
  expect(await cache.size()).toBe(32768 + bytes.length);
  await cache.delete(url);
  expect(readdirSync(folder)).toEqual([]);
});

it('goes on with a download that was aborted', async () => {
  server.files.set('/model.gguf', { bytes, etag: '"1"', faults: [{ byte: half, kind: 'stall' }] });
  const controller = new AbortController();
  const aborted = load(controller.signal, (loaded) => {
    if (loaded === half) controller.abort();
  });
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  expect(await load()).toEqual({
    ...{ nLayers: 6, phases: ['cache', 'download', 'prepare'], warnings: [] },
  });
  expect(server.requests.at(-1)!.range).toBe(`bytes=${String(2 * 2 ** 20)}-`);
});

it('is left alone while another load writes to it', async () => {
  server.files.set('/model.gguf', { bytes, etag: '"1"', faults: [{ byte: half, kind: 'stall' }] });
  const controller = new AbortController();
  const first = load(controller.signal).catch(() => undefined);
  await expect.poll(() => server.requests[0]?.sent).toBe(half);
  expect((await load()).warnings).toEqual(['cache_unavailable']);
  controller.abort();
  await first;
});

it('reads and writes no file that a link in it names', async () => {
  server.files.set('/model.gguf', { bytes, etag: '"1"' });
  await load();
  const [name] = readdirSync(folder) as [string];
  const elsewhere = join(folder, 'elsewhere');
  renameSync(join(folder, name), elsewhere);
  symlinkSync(elsewhere, join(folder, name));
  const kept = readFileSync(elsewhere);
  expect(await new ModelCache(folder).list()).toEqual([]);

  server.files.set('/model.gguf', { bytes, etag: '"2"' });
  for (const other of ['.a', '.b']) {
    const link = join(folder, name.slice(0, -2) + other);
    rmSync(link, { force: true });
    symlinkSync(elsewhere, link);
  }
  expect(await load()).toEqual({
    ...{ nLayers: 6, phases: ['download', 'prepare'], warnings: ['cache_unavailable'] },
  });
  expect(readFileSync(elsewhere).equals(kept)).toBe(true);
});

it.skipIf(process.platform === 'win32')('neither waits for a pipe nor opens a folder', async () => {
  server.files.set('/model.gguf', { bytes, etag: '"1"' });
  await load();
  const [name] = readdirSync(folder) as [string];
  rmSync(join(folder, name));
  execFileSync('mkfifo', [join(folder, name)]);
  mkdirSync(join(folder, name.slice(0, -2) + (name.endsWith('.a') ? '.b' : '.a')));
  expect((await load()).warnings).toEqual(['cache_unavailable']);
});

it('is a folder, and only in Node', async () => {
  expect(() => new ModelCache()).toThrow(/folder/);
  await expect(Kinglet.load(url, { cache: true })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});

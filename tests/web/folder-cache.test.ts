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
import { fileURLToPath } from 'node:url';
import { Kinglet, ModelCache } from 'kinglet';
import type { LoadOptions, LoadPhase } from 'kinglet';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

describe('without a folder', () => {
  const keeping = async (options: LoadOptions = {}) => {
    const heard = new Set<string>();
    const model = await Kinglet.load(url, {
      ...{ nThreads: 1, ...options },
      onWarning: ({ code }) => heard.add(code),
      onProgress: ({ phase }) => heard.add(phase),
    });
    model.dispose();
    return [...heard];
  };

  beforeEach(() => {
    server.files.set('/model.gguf', { bytes, etag: '"1"' });
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('keeps files where the environment says', async () => {
    vi.stubEnv('KINGLET_CACHE', join(folder, 'here'));
    expect(await keeping()).toEqual(['download', 'prepare']);
    expect(await keeping({ cache: true })).toEqual(['cache', 'prepare']);
    expect(await new ModelCache().list()).toMatchObject([{ url, isComplete: true }]);
    await new ModelCache().clear();
    expect(readdirSync(join(folder, 'here'))).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('keeps them for the user otherwise', async () => {
    vi.stubEnv('KINGLET_CACHE', '');
    vi.stubEnv('XDG_CACHE_HOME', folder);
    await keeping();
    expect(readdirSync(join(folder, 'kinglet'))).toHaveLength(1);
    vi.stubEnv('XDG_CACHE_HOME', '');
    vi.stubEnv('HOME', folder);
    await keeping();
    expect(readdirSync(join(folder, '.cache/kinglet'))).toHaveLength(1);
  });

  it('keeps nothing when it is told so, or cannot', async () => {
    vi.stubEnv('KINGLET_CACHE', join(folder, 'here'));
    expect(await keeping({ cache: false })).toEqual(['download', 'prepare']);
    expect(readdirSync(folder)).toEqual([]);
    vi.stubEnv('KINGLET_CACHE', join(fileURLToPath(storyModel), 'below a file'));
    expect(await keeping()).toEqual(['cache_unavailable', 'download', 'prepare']);
  });
});

it('is no folder without a name', async () => {
  expect(() => new ModelCache('')).toThrow('the folder must not be empty');
  expect(() => new ModelCache(5 as never)).toThrow('the folder must be a string, not 5');
  for (const wrong of [5, {}, null, undefined, ''] as never[]) {
    await expect(new ModelCache(folder).delete(wrong)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  }
  await expect(Kinglet.load(url, { cache: '' })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Kinglet } from 'kinglet';
import type { LoadOptions } from 'kinglet';
import { describe, expect, it, vi } from 'vitest';
import { errorCodes } from '../../web/src/errors.ts';
import { chooseThreads } from '../../web/src/worker/open-engine.ts';
import { detectSimd } from '../../web/src/worker/variants.ts';
import { root, storyModel } from './support.ts';

describe('the choice of threads', () => {
  it.each([
    { asked: undefined, hardware: 1, canShare: true, nThreads: 1, reason: 'one_core' },
    { asked: undefined, hardware: 2, canShare: true, nThreads: 2 },
    { asked: undefined, hardware: 3, canShare: true, nThreads: 2 },
    { asked: undefined, hardware: 4, canShare: true, nThreads: 2 },
    { asked: undefined, hardware: 8, canShare: true, nThreads: 4 },
    { asked: undefined, hardware: 64, canShare: true, nThreads: 8 },
    { asked: undefined, hardware: 8, canShare: false, nThreads: 1, reason: 'not_isolated' },
    { asked: 12, hardware: 8, canShare: true, nThreads: 12 },
    { asked: 12, hardware: 8, canShare: false, nThreads: 1, reason: 'not_isolated' },
    { asked: 1, hardware: 8, canShare: true, nThreads: 1, reason: 'requested' },
  ])('$asked of $hardware, shared memory: $canShare', (row) => {
    const chosen = chooseThreads(row.asked, row.hardware, row.canShare);
    expect(chosen.nThreads).toBe(row.nThreads);
    if (row.reason) expect(chosen.reason).toBe(row.reason);
  });
});

describe('the choice of SIMD', () => {
  it('is none without WebAssembly', () => {
    vi.stubGlobal('WebAssembly', undefined);
    try {
      expect(detectSimd()).toBeUndefined();
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('takes what WebAssembly.validate knows', () => {
    const hasRelaxed =
      Number(process.versions.node.split('.')[0]) >= 22 ||
      process.execArgv.includes('--experimental-wasm-relaxed-simd');
    expect(detectSimd()).toBe(hasRelaxed ? 'relaxed-simd' : 'simd128');
  });
});

describe('the package in Node', () => {
  const script = `import { Kinglet } from 'kinglet';
    const model = await Kinglet.load('demo/models/kinglet-stories-5m-Q4_0.gguf', { nThreads: 1 });
    process.stdout.write(model.info.architecture);`;
  const file = join(root, 'build/arguments.mjs');

  it.each([
    ['a file, with arguments for V8', ['--max-old-space-size=500', file]],
    ['a file, with arguments for Node', ['--no-warnings', file]],
    ['a script', ['--input-type=module', '-e', script]],
    [
      'a script, with arguments for V8',
      ['--max-old-space-size=500', '--input-type=module', '-e', script],
    ],
  ])('loads a model in %s', (_, args) => {
    writeFileSync(file, script);
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: 'llama', stderr: '' });
  });
});

describe('the package’s own files in Node', () => {
  const dist = new URL('../../dist/', import.meta.url);
  const load = (options: LoadOptions) =>
    Kinglet.load(storyModel, { nThreads: 1, ...options }).then((model) => {
      model.dispose();
      return model.info.architecture;
    });

  it('are found where the caller says', async () => {
    const options = {
      workerUrl: new URL('worker/worker.js', dist),
      engineUrl: fileURLToPath(new URL('engine', dist)),
    };
    expect(await load(options)).toBe('llama');
  });

  it.each([
    ['workerUrl', 'nothing/worker.js', /nothing\/worker\.js.* Cannot find .* workerUrl/],
    ['workerUrl', 'https://example.org/worker.js', /https:\/\/example\.org\/worker\.js/],
    ['engineUrl', 'nothing', /nothing\/kinglet-\S+\.\w+ .*(no such file|Cannot find).* engineUrl/],
  ])('are told where they are missing: %s %s', async (option, url, message) => {
    await expect(load({ [option]: url })).rejects.toMatchObject({
      ...{ name: 'KingletError', code: 'worker_unavailable' },
      message: expect.stringMatching(message) as string,
    });
  });

  it.each([{ worker: () => undefined }, { blobWorker: true }])(
    'are no blobs: %o',
    async (options) => {
      await expect(load(options as LoadOptions)).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    },
  );
});

describe('the error codes', () => {
  it('include every code of the engine', () => {
    const header = readFileSync(new URL('../../src/base/result.h', import.meta.url), 'utf8');
    const body = /enum class ErrorCode[^{]*\{([^}]*)\}/.exec(header)?.[1] ?? '';
    const names = [...body.matchAll(/^\s*(\w+),/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    expect(Object.keys(errorCodes)).toEqual(expect.arrayContaining(names));
  });
});

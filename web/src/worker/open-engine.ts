// Chooses a build of the engine and starts it.
import type createEngine from '#engine';
import type { EngineModule } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import { isNode } from '../runtime.ts';
import type { SingleThreadReason } from '../types.ts';
import type { OpenEngine } from './model-host.ts';
import type { Variant } from './variants.ts';
import { detectSimd, variantFiles } from './variants.ts';

const maxDefaultThreads = 8;

/** `kernels` is the set that the caller insists on; each build has one besides scalar. */
export async function openEngine(
  nThreads: number | undefined,
  kernels: string | undefined,
): Promise<OpenEngine> {
  const best = detectSimd();
  const simd = best && kernels === 'simd128' ? 'simd128' : best;
  if (!simd) {
    throw new KingletError('unsupported_environment', 'WebAssembly SIMD is missing here');
  }
  const wanted = chooseThreads(nThreads, await hardwareThreads());
  let { reason } = wanted;
  if (wanted.nThreads > 1) {
    const variant = `${simd}-threads` as const;
    try {
      const engine = await startVariant(variant, wanted.nThreads);
      return { engine, variant, singleThreadReason: 'refused' };
    } catch {
      // Most often the shared memory, whose maximum must be reserved in advance.
      reason = 'refused';
    }
  }
  try {
    const engine = await startVariant(simd, 1);
    return { engine, variant: simd, singleThreadReason: reason };
  } catch (error) {
    throw new KingletError(
      'unsupported_environment',
      `the WebAssembly engine could not start: ${messageOf(error)}`,
    );
  }
}

/**
 * The threads to start, and the reason should it come to one. By default half of the hardware's:
 * the other half are usually the same cores again, and asking for them all makes generation several
 * times slower.
 */
export function chooseThreads(
  asked: number | undefined,
  hardware: number,
  canShare: boolean = canShareMemory(),
): { nThreads: number; reason: SingleThreadReason } {
  if (asked === 1) return { nThreads: 1, reason: 'requested' };
  if (!canShare) return { nThreads: 1, reason: 'not_isolated' };
  const nThreads = asked ?? Math.min(maxDefaultThreads, Math.max(1, Math.floor(hardware / 2)));
  return { nThreads, reason: 'one_core' };
}

function canShareMemory(): boolean {
  return typeof SharedArrayBuffer === 'function' && (isNode || globalThis.crossOriginIsolated);
}

async function hardwareThreads(): Promise<number> {
  if (!isNode) return navigator.hardwareConcurrency;
  const name = 'node:os';
  const os = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ name
  )) as typeof import('node:os');
  return os.availableParallelism();
}

async function startVariant(variant: Variant, nThreads: number): Promise<EngineModule> {
  const { glue, wasm } = variantFiles(variant);
  const { default: create } = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ glue.href
  )) as { default: typeof createEngine };
  if (isNode) return create({ nThreads, wasmBinary: await readBytes(wasm) });
  return create({ nThreads, locateFile: () => wasm.href });
}

/** Node cannot fetch files. */
async function readBytes(file: URL): Promise<Uint8Array<ArrayBuffer>> {
  const name = 'node:fs/promises';
  const fs = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ name
  )) as typeof import('node:fs/promises');
  return new Uint8Array(await fs.readFile(file));
}

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

/**
 * `kernels` is the set that the caller insists on; each build has one besides scalar. `maxima`:
 * bytes that memory may come to, the best first; memory that threads share must be reserved in
 * advance, and small machines refuse much of it.
 */
export async function openEngine(
  nThreads: number | undefined,
  kernels: string | undefined,
  maxima: readonly number[],
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
      const memory = reserveShared(maxima);
      const engine = await startVariant(variant, wanted.nThreads, memory);
      return { engine, variant, singleThreadReason: 'refused' };
    } catch {
      reason = 'refused'; // most often the memory
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

const pageBytes = 65536;
/** What the engine's build begins with. */
const initialPages = 256;

function reserveShared(maxima: readonly number[]): WebAssembly.Memory {
  let refusal: unknown;
  for (const bytes of maxima) {
    const maximum = Math.max(initialPages, Math.ceil(bytes / pageBytes));
    try {
      return new WebAssembly.Memory({ initial: initialPages, maximum, shared: true });
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

async function startVariant(
  variant: Variant,
  nThreads: number,
  wasmMemory?: WebAssembly.Memory,
): Promise<EngineModule> {
  const { glue, wasm } = variantFiles(variant);
  const { default: create } = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ glue.href
  )) as { default: typeof createEngine };
  const overrides = { nThreads, ...(wasmMemory && { wasmMemory }) };
  if (isNode) return create({ ...overrides, wasmBinary: await readBytes(wasm) });
  return create({ ...overrides, locateFile: () => wasm.href });
}

/** Node cannot fetch files. */
async function readBytes(file: URL): Promise<Uint8Array<ArrayBuffer>> {
  const name = 'node:fs/promises';
  const fs = (await import(
    /* webpackIgnore: true */ /* @vite-ignore */ name
  )) as typeof import('node:fs/promises');
  return new Uint8Array(await fs.readFile(file));
}

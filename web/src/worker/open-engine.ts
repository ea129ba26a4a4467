// Chooses a build of the engine and starts it.
import type { EngineModule, EngineOverrides } from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import { maxUsualThreads } from '../option-tables.generated.ts';
import { importNode, isNode } from '../runtime.ts';
import type { SingleThreadReason } from '../types.ts';
import type { Simd, Variant, VariantFiles } from './variants.ts';
import { detectSimd, variantFiles } from './variants.ts';

/** A running engine, and how it was chosen. */
export interface OpenEngine {
  engine: EngineModule;
  variant: string;
  /** Reported only if the engine has one thread. */
  singleThreadReason: SingleThreadReason;
}

/** Makes an engine: what the module of a build exports. */
export type CreateEngine = (overrides?: EngineOverrides) => Promise<EngineModule>;

/**
 * Plans the memory of a model, with an engine of the build that will run it. Returns the sizes in
 * bytes to try, the best first. Throws if the model cannot be loaded.
 */
export type PlanMemory = (engine: EngineModule, nThreads: number) => Promise<readonly number[]>;

/**
 * `kernels`: the set that the caller requires; each build has one set besides scalar. Memory that
 * threads share must be reserved in advance, and small machines refuse large sizes: so an engine of
 * one thread, with little memory, calls `plan` first. `onStarting`: see HostEnvironment. `create`:
 * makes an engine in place, which has one thread.
 */
export async function openEngine(
  nThreads: number | undefined,
  kernels: string | undefined,
  plan: PlanMemory,
  onStarting: (nThreads: number) => void,
  engineUrl: string | undefined,
  create?: CreateEngine,
): Promise<OpenEngine> {
  const start = (variant: Variant, threads: number, memory?: WebAssembly.Memory) =>
    startVariant(variantFiles(variant, engineUrl), threads, onStarting, create, memory);
  const best = detectSimd();
  const simd = best && kernels === 'simd128' ? 'simd128' : best;
  if (!simd) {
    throw new KingletError(
      'unsupported_environment',
      'this browser does not support WebAssembly SIMD',
    );
  }
  const wanted = create ? oneThread(nThreads) : chooseThreads(nThreads, await hardwareThreads());
  let { reason } = wanted;
  if (wanted.nThreads > 1) {
    const variant = `${simd}-threads` as const;
    const planner = await unlessRefused(() => start(variant, 1, reserveShared(plannerMaxima)));
    const maxima = planner && (await plan(planner, wanted.nThreads));
    const engine =
      maxima && (await unlessRefused(() => start(variant, wanted.nThreads, reserveShared(maxima))));
    if (engine) {
      // The threads started, but the engine may have found that one thread is faster.
      const singleThreadReason = engine.nPoolThreads() > 1 ? 'one_core' : 'refused';
      return { engine, variant, singleThreadReason };
    }
    reason = 'refused'; // usually the memory
  }
  const engine = await start(simd, 1).catch((error: unknown) => {
    throw startError(error);
  });
  await plan(engine, 1);
  return { engine, variant: simd, singleThreadReason: reason };
}

/** Room for two copies of a long header, which has the vocabulary. */
const plannerMaxima = [2 ** 28, 2 ** 26];

/** Returns undefined if the browser refuses to start an engine. */
async function unlessRefused(
  start: () => Promise<EngineModule>,
): Promise<EngineModule | undefined> {
  try {
    return await start();
  } catch (error) {
    if (error instanceof KingletError) throw error;
    return undefined;
  }
}

const maxVisionSeconds = 10;

/**
 * Opens a second engine, whose memory is for reading pictures. It has as many threads as the first,
 * if they start.
 */
export async function openVision(
  { engine, variant }: OpenEngine,
  fileBytes: number,
  engineUrl: string | undefined,
  create?: CreateEngine,
): Promise<EngineModule> {
  const start = (build: Variant, nThreads: number, memory?: WebAssembly.Memory) =>
    startVariant(variantFiles(build, engineUrl), nThreads, () => undefined, create, memory);
  const simd: Simd = variant.startsWith('relaxed-simd') ? 'relaxed-simd' : 'simd128';
  try {
    const nThreads = engine.nPoolThreads();
    if (nThreads > 1) {
      try {
        const memory = reserveShared([2 ** 30, 2 ** 28].map((spare) => fileBytes + spare));
        return await inTime(start(`${simd}-threads`, nThreads, memory));
      } catch {
        // One thread needs no shared memory and no other workers.
      }
    }
    return await start(simd, 1);
  } catch (error) {
    throw startError(error);
  }
}

/** Rejects after a time, because threads that do not start report nothing. */
async function inTime<T>(started: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const givenUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('the threads did not start'));
    }, 1000 * maxVisionSeconds);
  });
  try {
    return await Promise.race([started, givenUp]);
  } finally {
    clearTimeout(timer);
  }
}

export function startError(error: unknown): KingletError {
  if (error instanceof KingletError) return error;
  if (error instanceof MissingFile) {
    const advice = "set engineUrl to the address of the files in the package's folder engine";
    return new KingletError('worker_unavailable', `${error.message}: ${advice}`);
  }
  const message = `the WebAssembly engine could not start: ${messageOf(error)}`;
  if (error instanceof RangeError) return new KingletError('out_of_memory', message);
  const isForbidden = /content.security|\bcsp\b|unsafe-eval/i.test(message);
  const advice = " The page's Content-Security-Policy must allow 'wasm-unsafe-eval' (script-src)";
  return new KingletError('unsupported_environment', isForbidden ? message + advice : message);
}

/** Thrown if one of the engine's files cannot be loaded from its address. */
class MissingFile extends Error {
  constructor(file: URL, found: string) {
    super(`the engine could not be loaded from ${file.href} (${found})`);
  }
}

interface ChosenThreads {
  nThreads: number;
  reason: SingleThreadReason;
}

function oneThread(asked: number | undefined): ChosenThreads {
  return { nThreads: 1, reason: asked === 1 ? 'requested' : 'here' };
}

/**
 * Chooses how many threads to start, and the reason if it is one. The default is half of the
 * hardware's threads: the other half usually belong to the same cores, and using all of them makes
 * generation several times slower. Of two threads, both are used, as they may be two cores; if more
 * threads are slower, the engine uses fewer.
 */
export function chooseThreads(
  asked: number | undefined,
  hardware: number,
  canShare: boolean = canShareMemory(),
): ChosenThreads {
  if (asked === 1) return { nThreads: 1, reason: 'requested' };
  if (!canShare) return { nThreads: 1, reason: 'not_isolated' };
  const half = Math.floor(hardware / 2);
  const nThreads = asked ?? Math.min(maxUsualThreads, Math.max(1, Math.min(2, hardware), half));
  return { nThreads, reason: 'one_core' };
}

export function canShareMemory(): boolean {
  return typeof SharedArrayBuffer === 'function' && (isNode || globalThis.crossOriginIsolated);
}

async function hardwareThreads(): Promise<number> {
  if (!isNode) return navigator.hardwareConcurrency;
  return (await importNode('os')).availableParallelism();
}

const pageBytes = 65536;
/** The initial memory of the engine's build. */
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
  { glue, wasm }: VariantFiles,
  nThreads: number,
  onStarting: (nThreads: number) => void,
  inPlace?: CreateEngine,
  wasmMemory?: WebAssembly.Memory,
): Promise<EngineModule> {
  const overrides: EngineOverrides = {
    nThreads,
    // With a turn, which may end with a batch, the longest time without other events: 45 ms.
    ...(inPlace && { batchSeconds: 0.02 }),
    ...(wasmMemory && { wasmMemory }),
  };
  const onSign = () => {
    onStarting(nThreads);
  };
  const module = underWay(compile(wasm), onSign);
  module.catch(() => undefined); // the error is reported below, if the glue could be loaded
  const create = inPlace ?? (await underWay(importGlue(glue), onSign));
  return new Promise((resolve, reject) => {
    const instantiateWasm: EngineOverrides['instantiateWasm'] = (imports, onInstance) => {
      module
        .then(async (compiled) => {
          onInstance(await WebAssembly.instantiate(compiled, imports), compiled);
        })
        .catch(reject);
      return {};
    };
    // This never settles if a thread does not start.
    create({ ...overrides, locateFile: () => wasm.href, instantiateWasm }).then(resolve, reject);
  });
}

async function importGlue(glue: URL): Promise<CreateEngine> {
  try {
    const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ glue.href)) as {
      default: CreateEngine;
    };
    return module.default;
  } catch (error) {
    throw new MissingFile(glue, messageOf(error));
  }
}

const compiledModules = new Map<string, Promise<WebAssembly.Module>>();

/** Compiles a module once, however many engines are made of it. */
function compile(wasm: URL): Promise<WebAssembly.Module> {
  const compiled = compiledModules.get(wasm.href) ?? compileAnew(wasm);
  compiledModules.set(wasm.href, compiled);
  compiled.catch(() => compiledModules.delete(wasm.href)); // it may come the next time
  return compiled;
}

async function compileAnew(wasm: URL): Promise<WebAssembly.Module> {
  if (isNode) return WebAssembly.compile(await readBytes(wasm));
  const response = await fetch(wasm, { credentials: 'same-origin' }).catch((error: unknown) => {
    throw new MissingFile(wasm, messageOf(error));
  });
  if (!response.ok) throw new MissingFile(wasm, `HTTP status ${String(response.status)}`);
  const type = response.headers.get('Content-Type') ?? '';
  if (type.startsWith('text/html'))
    throw new MissingFile(wasm, 'the server sent a web page instead');
  // Also accept servers that do not know the type of wasm files.
  return type.startsWith('application/wasm')
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

const maxFileSeconds = 60;

/** Calls `onSign` every second until an engine's file is loaded. Rejects after a long time. */
async function underWay<T>(file: Promise<T>, onSign: () => void): Promise<T> {
  let timer: ReturnType<typeof setInterval> | undefined;
  let seconds = 0;
  onSign();
  const givenUp = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const message = `the engine's files did not arrive within ${String(maxFileSeconds)} seconds`;
      if (++seconds === maxFileSeconds) reject(new KingletError('network', message));
      else onSign();
    }, 1000);
  });
  try {
    return await Promise.race([file, givenUp]);
  } finally {
    clearInterval(timer);
  }
}

/** Reads a file in Node, whose fetch() cannot read files. */
async function readBytes(file: URL): Promise<Uint8Array<ArrayBuffer>> {
  const { readFile } = await importNode('fs/promises');
  try {
    return new Uint8Array(await readFile(file));
  } catch (error) {
    throw new MissingFile(file, messageOf(error));
  }
}

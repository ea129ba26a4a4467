// Streams a model's bytes into the heap of an engine that is opened for it.
import type { EngineLoader, EngineModel, EngineModule } from '#engine';
import { KingletError } from '../errors.ts';
import type { PostedLoadOptions, PostedSources } from '../protocol.ts';
import type { LoadPhase, LoadProgress } from '../types.ts';
import type { ByteSource } from './byte-source.ts';
import { openSource, sizeOfSource } from './byte-source.ts';
import { StaleBytes } from './download.ts';
import { unwrap } from './engine-error.ts';
import type { RequestOptions } from './http.ts';
import type { HostEnvironment, OpenEngine } from './model-host.ts';

export interface LoadedModel {
  running: OpenEngine;
  model: EngineModel;
}

export interface LoadEnvironment {
  openEngine: HostEnvironment['openEngine'];
  onProgress(progress: LoadProgress): void;
}

/** Beginning anew this often, a file that keeps changing is given up. */
const maxAttempts = 3;

/** `sources`: one file, or all that the model is split into, each opened when its turn comes. */
export async function loadModel(
  sources: PostedSources,
  options: PostedLoadOptions,
  environment: LoadEnvironment,
): Promise<LoadedModel> {
  let running: OpenEngine | undefined;
  const load = new Load(sources, options, environment);
  for (let attempt = 1; ; ++attempt) {
    try {
      // Opened before the engine: a wrong address should not cost the engine's download.
      const first = await load.openFirst();
      running ??= await environment.openEngine(options.nThreads, options.kernels);
      const kernels = checkedKernels(running.engine, options);
      return { running, model: await load.run(running.engine, first, kernels) };
    } catch (error) {
      if (!(error instanceof StaleBytes)) throw error;
      if (attempt === maxAttempts) throw new KingletError('file_changed', error.message);
    }
  }
}

function checkedKernels(engine: EngineModule, { kernels }: PostedLoadOptions): string {
  if (kernels === undefined) return '';
  const names = engine.kernelSets();
  if (names.includes(kernels)) return kernels;
  throw new KingletError(
    'invalid_argument',
    `unknown kernel set "${kernels}"; this build has ${names.join(', ')}`,
  );
}

class Load {
  readonly #sources: PostedSources;
  readonly #request: RequestOptions;
  readonly #progress: Progress;
  /** Of every part, as far as they are known. */
  #sizes: (number | undefined)[] = [];

  constructor(
    sources: PostedSources,
    { headers, stallTimeout }: PostedLoadOptions,
    environment: LoadEnvironment,
  ) {
    this.#sources = sources;
    this.#request = { headers, stallTimeout, cache: 'default' };
    this.#progress = new Progress((progress) => {
      environment.onProgress(progress);
    });
  }

  /** The first part, open; the sizes of the others are known then, too, where they can be. */
  async openFirst(): Promise<ByteSource> {
    const [first, ...others] = this.#sources;
    const opened = await openSource(first, this.#request);
    const sizes = await Promise.all(others.map((source) => sizeOfSource(source, this.#request)));
    this.#sizes = [opened.size || undefined, ...sizes];
    return opened;
  }

  async run(engine: EngineModule, first: ByteSource, kernels: string): Promise<EngineModel> {
    const loader = engine.newLoader(first.size);
    try {
      this.#progress.begin();
      for (const [index, posted] of this.#sources.entries()) {
        const source = index === 0 ? first : await openSource(posted, this.#request);
        if (index > 0) unwrap(loader.nextPart(source.size));
        await this.#loadPart(engine, loader, index, source);
      }
      this.#progress.end();
      return unwrap(loader.finish({ kernels }));
    } finally {
      loader.delete();
    }
  }

  async #loadPart(
    engine: EngineModule,
    loader: EngineLoader,
    index: number,
    { pieces }: ByteSource,
  ): Promise<void> {
    for await (const { bytes, phase } of pieces) {
      const taken = feed(engine, loader, bytes);
      this.#sizes[index] = loader.fileBytes() || this.#sizes[index];
      this.#progress.advance(taken, this.#sizes, phase);
      if (taken < bytes.length) break;
    }
  }
}

/** Tells about the bytes that are there, not too often. */
class Progress {
  readonly #report: (progress: LoadProgress) => void;
  readonly #intervalMs = 50;
  #last: LoadProgress = { loaded: 0, total: undefined, phase: 'read' };
  #reportedAt = -Infinity;

  constructor(report: (progress: LoadProgress) => void) {
    this.#report = report;
  }

  begin(): void {
    this.#last.loaded = 0;
    this.#reportedAt = -Infinity;
  }

  advance(bytes: number, sizes: (number | undefined)[], phase: LoadPhase): void {
    const total = sizes.reduce<number | undefined>(
      (sum, size) => (sum === undefined || size === undefined ? undefined : sum + size),
      0,
    );
    this.#last = { loaded: this.#last.loaded + bytes, total, phase };
    const now = performance.now();
    if (now - this.#reportedAt < this.#intervalMs) return;
    this.#reportedAt = now;
    this.#report(this.#last);
  }

  end(): void {
    this.#report(this.#last);
    this.#report({ ...this.#last, phase: 'prepare' });
  }
}

/** Copies a piece to where the loader wants it; how much of it was wanted. */
function feed(engine: EngineModule, loader: EngineLoader, piece: Uint8Array): number {
  let taken = 0;
  while (taken < piece.length) {
    const { address, bytes } = unwrap(loader.reserve(piece.length - taken));
    if (bytes === 0) break;
    // Reserving may have grown the memory, which replaces HEAPU8.
    engine.HEAPU8.set(piece.subarray(taken, taken + bytes), address);
    unwrap(loader.commit(bytes));
    taken += bytes;
  }
  return taken;
}

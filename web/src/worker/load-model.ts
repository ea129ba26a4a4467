// Opens an engine for a model, and streams the model's bytes into the engine's heap.
import type { EngineLoader, EngineModel, EngineModule } from '#engine';
import type { KingletErrorCode } from '../errors.ts';
import { KingletError, messageOf } from '../errors.ts';
import type { NamedSource, NamedSources, PostedLoadOptions, PostedSources } from '../protocol.ts';
import { atLeastOne } from '../source.ts';
import { splitPaths } from '../split.ts';
import type { LoadPhase, LoadProgress } from '../types.ts';
import type { ByteSource, Outcome, SourcePiece } from './byte-source.ts';
import { FileCache } from './cached-download.ts';
import { StaleBytes } from './download.ts';
import { unwrap } from './engine-error.ts';
import { nameFiles } from './hub-listing.ts';
import type { MemoryPlan } from './memory-plan.ts';
import { checkModelBytes, leastStored, planMemory } from './memory-plan.ts';
import type { FileHeader } from './model-shape.ts';
import { maxHeaderBytes, readHeader } from './model-shape.ts';
import type { OpenEngine } from './open-engine.ts';
import type { Access } from './open-source.ts';
import { isPath, openSource, sizeOfSource } from './open-source.ts';
import { StoredTables, unreadable } from './stored-file.ts';

export interface LoadedModel {
  running: OpenEngine;
  model: EngineModel;
}

export interface LoadEnvironment {
  openEngine(
    nThreads: number | undefined,
    kernels: string | undefined,
    maxima: readonly number[],
  ): Promise<OpenEngine>;
  onProgress: (progress: LoadProgress) => void;
  /** Called with problems that do not stop the load. */
  onWarning: (warning: KingletError) => void;
}

/** After this many attempts, the load of a file that keeps changing fails. */
export const maxAttempts = 3;

/**
 * `sources`: one file, or all parts of a split model. Each is opened only when it is read. If the
 * one file is a part, its name tells the others.
 */
export async function loadModel(
  sources: PostedSources,
  options: PostedLoadOptions,
  environment: LoadEnvironment,
): Promise<LoadedModel> {
  let running: OpenEngine | undefined;
  const access = await accessTo(sources, options, environment.onWarning);
  const load = new Load(await nameFiles(sources, access), access, environment);
  for (let attempt = 1; ; ++attempt) {
    try {
      // The file is opened before the engine, so that a wrong address fails before its download.
      const first = await load.openFirst();
      const { maxima, storedBytes } = await load.plan(first, options);
      running ??= await environment.openEngine(options.nThreads, options.kernels, maxima);
      const kernels = checkedKernels(running.engine, options);
      const choosesThreads = options.nThreads === undefined;
      const tables = storedBytes > 0 ? new StoredTables(leastStored(options)) : undefined;
      const model = await load.run(running.engine, first.source, kernels, choosesThreads, tables);
      return { running, model };
    } catch (error) {
      if (!(error instanceof StaleBytes)) throw error;
      if (attempt === maxAttempts) throw new KingletError('file_changed', error.message);
    }
  }
}

export async function accessTo(
  sources: PostedSources,
  { headers, stallTimeout, cache: wanted }: PostedLoadOptions,
  onWarning: LoadEnvironment['onWarning'],
): Promise<Access> {
  const isDownload = sources.some(
    (source) => source.kind === 'hub' || (source.kind === 'url' && !isPath(source.url)),
  );
  const cache = isDownload && wanted ? await FileCache.open({ ...wanted, onWarning }) : undefined;
  // Files should not be cached twice, and browsers' own caches fail on large files.
  return { request: { headers, stallTimeout, cache: cache ? 'no-store' : 'default' }, cache };
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

/** An open file, whose header was read. The pieces of its source still begin with the header. */
interface OpenFile {
  source: ByteSource;
  /** Undefined if the file does not begin with a header. */
  header: FileHeader | undefined;
}

class Load {
  readonly #sources: NamedSources;
  readonly #access: Access;
  readonly #progress: Progress;
  /** All parts, in the order in which they are read. */
  #parts: NamedSources;
  /** Their sizes, as far as they are known. */
  #sizes: (number | undefined)[] = [];

  constructor(sources: NamedSources, access: Access, { onProgress }: LoadEnvironment) {
    this.#sources = sources;
    this.#parts = sources;
    this.#access = access;
    this.#progress = new Progress(onProgress);
  }

  /** Opens the first part, and finds out the sizes of the others if possible. */
  async openFirst(): Promise<OpenFile> {
    const [named] = this.#sources;
    let first = await this.#open(named);
    // A whole file may have the name of a part, too.
    const isLonePart = this.#sources.length === 1 && first.header?.isPart === true;
    this.#parts = isLonePart ? partsOf(named) : this.#sources;
    const [source, ...others] = this.#parts;
    if (source !== named) {
      await putAside(first.source);
      first = await this.#open(source);
    }
    const sizes = await Promise.all(others.map((other) => sizeOfSource(other, this.#access)));
    this.#sizes = [first.source.size || undefined, ...sizes];
    return first;
  }

  async #open(named: NamedSource): Promise<OpenFile> {
    const source = await openSource(named, this.#access);
    try {
      if (!source.stored) checkModelBytes(source.size);
      return { source, header: await peekHeader(source) };
    } catch (error) {
      await source.end(isAboutBytes(error) ? 'useless' : 'broken');
      throw error;
    }
  }

  /** Plans the model's memory from the beginning of the first part. */
  async plan({ source, header }: OpenFile, options: PostedLoadOptions): Promise<MemoryPlan> {
    const [size, ...others] = this.#sizes;
    // Parts of unknown size are assumed to be as large as the first.
    const modelBytes = size && others.reduce<number>((sum, other) => sum + (other ?? size), size);
    try {
      return planMemory(modelBytes, header?.shape, options, source.stored?.isKept() ?? false);
    } catch (error) {
      await source.end('broken');
      throw error;
    }
  }

  async run(
    engine: EngineModule,
    first: ByteSource,
    kernels: string,
    choosesThreads: boolean,
    tables: StoredTables | undefined,
  ): Promise<EngineModel> {
    const loader = unwrap(engine.newLoader(first.size, kernels, tables?.for(engine)));
    try {
      this.#progress.begin();
      for (const [index, posted] of this.#parts.entries()) {
        const source = index === 0 ? first : await openSource(posted, this.#access);
        if (index > 0) unwrap(loader.nextPart(source.size));
        await this.#loadPart(engine, loader, index, source, index === 0 ? tables : undefined);
      }
      this.#progress.end();
      return unwrap(loader.finish(choosesThreads));
    } catch (error) {
      tables?.file?.close();
      throw error;
    } finally {
      loader.delete();
    }
  }

  async #loadPart(
    engine: EngineModule,
    loader: EngineLoader,
    index: number,
    source: ByteSource,
    tables: StoredTables | undefined,
  ): Promise<void> {
    let outcome: Outcome = 'useless';
    let loaded = 0;
    try {
      for await (const { bytes, phase } of source.pieces) {
        if (tables && !source.stored?.isKept()) throw unreadable('it is not kept');
        let taken = feed(engine, loader, bytes);
        const isWhole = taken === bytes.length;
        if (isWhole && source.skip) {
          const nSkipped = loader.skip(Number.MAX_SAFE_INTEGER);
          if (nSkipped > 0) source.skip(nSkipped);
          taken += nSkipped;
        }
        loaded += taken;
        this.#sizes[index] = loader.fileBytes() || this.#sizes[index];
        this.#progress.advance(taken, this.#sizes, phase);
        if (!isWhole) break;
      }
      if (loaded > 0 && loaded === loader.fileBytes()) outcome = 'complete';
    } catch (error) {
      if (!isAboutBytes(error)) outcome = 'broken';
      throw error;
    } finally {
      await source.end(outcome);
    }
    if (tables && outcome === 'complete') await openTables(tables, source);
  }
}

/** Returns all parts of a split model, if the file has the name of one. */
function partsOf(named: NamedSource): NamedSources {
  if (named.kind !== 'url') return [named];
  const urls = splitPaths(named.url);
  return atLeastOne(urls.map((url) => (url === named.url ? named : { kind: 'url', url })));
}

/** Ends a source whose header was read. It will be opened again. */
async function putAside(source: ByteSource): Promise<void> {
  const pieces = source.pieces[Symbol.asyncIterator]();
  await pieces.next(); // a generator that has not begun would leave its own source open
  await pieces.return?.();
  await source.end('broken');
}

async function openTables(tables: StoredTables, { stored }: ByteSource): Promise<void> {
  try {
    tables.file = await stored?.open();
  } catch (error) {
    throw unreadable(messageOf(error));
  }
}

/** Reports the loaded bytes, not too often, but the last ones soon, too. */
class Progress {
  readonly #report: (progress: LoadProgress) => void;
  readonly #intervalMs = 50;
  #last: LoadProgress = { loaded: 0, total: undefined, phase: 'read' };
  #reportedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

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
    if (performance.now() - this.#reportedAt >= this.#intervalMs) this.#reportNow();
    else this.#timer ??= setTimeout(this.#reportNow, this.#intervalMs);
  }

  /** Reports now, because the next step blocks the worker. */
  end(): void {
    this.#reportNow();
    this.#report({ ...this.#last, phase: 'prepare' });
  }

  readonly #reportNow = () => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#reportedAt = performance.now();
    this.#report(this.#last);
  };
}

/**
 * Returns whether an error means that the bytes are no model, not only that loading them failed.
 */
export function isAboutBytes(error: unknown): boolean {
  const others: KingletErrorCode[] = [
    ...(['io', 'network', 'not_found', 'access_denied', 'cors'] as const),
    'cache_unavailable' as const,
    ...(['invalid_argument', 'too_large', 'out_of_memory'] as const),
  ];
  return error instanceof KingletError && !others.includes(error.code);
}

/** Reads the header of the file. The pieces then begin with the same bytes again. */
async function peekHeader(source: ByteSource): Promise<FileHeader | undefined> {
  const iterator = source.pieces[Symbol.asyncIterator]();
  const taken: SourcePiece[] = [];
  const { skip } = source;
  source.skip = undefined;
  source.pieces = rejoined(taken, iterator, () => {
    source.skip = skip;
  });
  let start = new Uint8Array(1 << 16);
  let length = 0;
  for (let nextTry = 1; ;) {
    const next = await iterator.next();
    if (next.done) return undefined;
    const { bytes, phase } = next.value;
    taken.push({ bytes: bytes.slice(), phase });
    if (length + bytes.length > start.length) {
      const grown = new Uint8Array(2 * (length + bytes.length));
      grown.set(start);
      start = grown;
    }
    start.set(bytes, length);
    length += bytes.length;
    if (length < nextTry) continue;
    const header = readHeader(start.subarray(0, length));
    if (header !== 'more') return header;
    if (length > maxHeaderBytes) return undefined;
    nextTry = 2 * length; // all attempts together cost at most twice the last one
  }
}

async function* rejoined(
  taken: SourcePiece[],
  rest: AsyncIterator<SourcePiece>,
  onLast: () => void,
): AsyncGenerator<SourcePiece, void, void> {
  try {
    for (let piece = taken.shift(); piece; piece = taken.shift()) {
      if (taken.length === 0) onLast();
      yield piece;
    }
    for (;;) {
      const next = await rest.next();
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** Copies a piece to the loader's memory. Returns how many of its bytes the loader took. */
function feed(engine: EngineModule, loader: EngineLoader, piece: Uint8Array): number {
  let taken = 0;
  for (;;) {
    taken += loader.skip(piece.length - taken);
    if (taken === piece.length) break;
    const { address, bytes } = unwrap(loader.reserve(piece.length - taken));
    if (bytes === 0) break;
    // Reserving may have grown the memory, which replaces HEAPU8.
    engine.HEAPU8.set(piece.subarray(taken, taken + bytes), address);
    unwrap(loader.commit(bytes));
    taken += bytes;
  }
  return taken;
}

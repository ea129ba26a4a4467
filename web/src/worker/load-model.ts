// Opens an engine for a model, and streams the model's bytes into the engine's heap.
import type {
  EngineHeader,
  EngineModel,
  EngineModule,
  EnginePlan,
  EngineSessionOptions,
  EngineSpeed,
  TablePlace,
  WeightLoader,
} from '#engine';
import { KingletError, messageOf } from '../errors.ts';
import type {
  KvChoices,
  NamedSource,
  NamedSources,
  PostedLoadOptions,
  PostedSources,
} from '../protocol.ts';
import { atLeastOne } from '../source.ts';
import { splitPaths } from '../split.ts';
import type { LoadPhase, LoadProgress } from '../types.ts';
import type { ByteSource, Outcome } from './byte-source.ts';
import { FileCache } from './cached-download.ts';
import { unwrap } from './engine-error.ts';
import { listed, named } from './hub-listing.ts';
import { HeaderReader, putAside } from './header-reader.ts';
import { checkModelBytes, planMemory } from './memory-plan.ts';
import type { OpenEngine, PlanMemory } from './open-engine.ts';
import type { Access } from './open-source.ts';
import { isPath, openSource, sizeOfSource } from './open-source.ts';
import { StoredTables, unreadable } from './stored-file.ts';
import { isAboutBytes, loadFresh, streamWeights } from './stream-weights.ts';

/** The engine's options for a session. `nCtx`: 0 for the model's own. */
export function engineOptions(nCtx: number, kv: KvChoices, kvPool = 0): EngineSessionOptions {
  return { nCtx, nBatch: 0, kKind: kv.k, vKind: kv.v, kvPool };
}

export interface LoadedModel {
  running: OpenEngine;
  model: EngineModel;
  /** What the model is called. */
  name: string;
}

export interface LoadEnvironment {
  openEngine(
    nThreads: number | undefined,
    kernels: string | undefined,
    plan: PlanMemory,
  ): Promise<OpenEngine>;
  onProgress: (progress: LoadProgress) => void;
  /** Called with problems that do not stop the load. */
  onWarning: (warning: KingletError) => void;
  /** Ends the load when it aborts, and closes the model's files, also after the load. */
  signal: AbortSignal;
}

/**
 * `sources`: one file, or all parts of a split model. Each is opened only when it is read. If the
 * one file is a part, its name says those of the others.
 */
export async function loadModel(
  sources: PostedSources,
  options: PostedLoadOptions,
  environment: LoadEnvironment,
): Promise<LoadedModel> {
  let running: OpenEngine | undefined;
  const { onWarning, signal } = environment;
  const access = await accessTo(sources, options, onWarning, signal);
  const found = await Promise.all(sources.map((source) => listed(source, access)));
  const isNamed = found.every(({ kind }) => kind !== 'hub');
  let load: Load | undefined;
  /** The engine chooses among the files on the hub. */
  const loadWith = (engine?: EngineModule) => {
    const files = () => atLeastOne(found.map((source) => named(source, engine)));
    return (load ??= new Load(files(), access, options, environment));
  };
  return loadFresh(async () => {
    try {
      let opening = isNamed ? loadWith().open() : undefined;
      const plan: PlanMemory = async (engine, nThreads) => {
        await (opening ??= loadWith(engine).open());
        return loadWith(engine).plan(engine, nThreads);
      };
      if (running) await plan(running.engine, running.engine.nPoolThreads());
      else {
        // The engine starts while the server answers. A wrong address is reported without it.
        const starting = environment.openEngine(options.nThreads, options.kernels, plan);
        starting.catch(() => undefined);
        await opening;
        running = await starting;
      }
      const model = await loadWith(running.engine).run(running.engine);
      return { running, model, name: model.useFileName(fileName(loadWith().sources[0])) };
    } catch (error) {
      await load?.end();
      throw error;
    }
  });
}

/** What is known of a model before it is loaded; undefined where it is not. */
export interface EstimatedModel {
  fileBytes?: number | undefined;
  /** Of memory, for the model and its first session. */
  memoryBytes?: number | undefined;
  plan?: EnginePlan | undefined;
  running?: OpenEngine | undefined;
  speed?: EngineSpeed | undefined;
  /** Why the model cannot be loaded. */
  problem?: KingletError | undefined;
}

/** Does what loadModel() does until the header is read, and measures the engine's speed. */
export async function estimateModel(
  sources: PostedSources,
  options: PostedLoadOptions,
  environment: LoadEnvironment,
): Promise<EstimatedModel> {
  const { onWarning, signal } = environment;
  const access = await accessTo(sources, options, onWarning, signal);
  const found = await Promise.all(sources.map((source) => listed(source, access)));
  let load: Load | undefined;
  let opening: Promise<void> | undefined;
  const plan: PlanMemory = async (engine, nThreads) => {
    const files = atLeastOne(found.map((source) => named(source, engine)));
    load ??= new Load(files, access, options, environment);
    await (opening ??= load.open());
    return load.plan(engine, nThreads);
  };
  try {
    const running = await environment.openEngine(options.nThreads, options.kernels, plan);
    const speed = await load?.estimateSpeed(running.engine);
    return { ...load?.estimated, running, speed };
  } catch (error) {
    if (!(error instanceof KingletError) || !isRefusal(error)) throw error;
    return { ...load?.estimated, problem: error };
  } finally {
    await load?.end();
  }
}

/** Whether an error says that a sound file's model cannot run here. */
function isRefusal({ code }: KingletError): boolean {
  return code === 'too_large' || code.startsWith('unsupported_');
}

export async function accessTo(
  sources: PostedSources,
  { headers, stallTimeout, cache: wanted }: PostedLoadOptions,
  onWarning: LoadEnvironment['onWarning'],
  signal?: AbortSignal,
): Promise<Access> {
  const isDownload = sources.some(
    (source) => source.kind === 'hub' || (source.kind === 'url' && !isPath(source.url)),
  );
  const cache = isDownload && wanted ? await FileCache.open({ ...wanted, onWarning }) : undefined;
  // Files should not be cached twice, and browsers' own caches fail on large files.
  const request = { headers, stallTimeout, cache: cache ? 'no-store' : 'default', signal } as const;
  return { request, cache };
}

/** Returns the path of a file, or its name; "" if it has none. */
function fileName(source: NamedSource): string {
  if (source.kind === 'url') {
    const { protocol, pathname } = new URL(source.url);
    return /^(?:data|blob):$/.test(protocol) ? '' : decoded(pathname);
  }
  return source.kind === 'blob' && source.blob instanceof File ? source.blob.name : '';
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // "%" stands for itself
  }
}

function checkedKernels(engine: EngineModule, { kernels }: PostedLoadOptions): string {
  if (kernels === undefined) return '';
  const names = engine.kernelSets();
  if (names.includes(kernels)) return kernels;
  throw new KingletError(
    'invalid_argument',
    `unknown kernel set "${kernels}" (known: ${names.join(', ')})`,
  );
}

interface OpenFile {
  source: ByteSource;
  /** The pieces of the source still begin with the header. */
  reader: HeaderReader;
}

class Load {
  readonly sources: NamedSources;
  readonly #access: Access;
  readonly #options: PostedLoadOptions;
  readonly #progress: Progress;
  readonly #signal: AbortSignal;
  /** All parts, in the order in which they are read. */
  #parts: NamedSources;
  /** Their sizes, as far as they are known. */
  #sizes: (number | undefined)[] = [];
  /** The first part, until it has been read. */
  #first: OpenFile | undefined;
  /** Whether tables of the first part stay in its file. */
  #keepsTables = false;
  /** What planning has found so far. */
  readonly estimated: EstimatedModel = {};

  constructor(
    sources: NamedSources,
    access: Access,
    options: PostedLoadOptions,
    { onProgress, signal }: LoadEnvironment,
  ) {
    this.sources = sources;
    this.#signal = signal;
    this.#parts = sources;
    this.#options = options;
    this.#progress = new Progress(onProgress);
    const onRetry = () => {
      this.#progress.retry();
    };
    this.#access = { ...access, request: { ...access.request, onRetry } };
  }

  /** Opens the first of the given files. */
  async open(): Promise<void> {
    this.#parts = this.sources;
    this.#first = await this.#open(this.#parts[0]);
  }

  /** Call this after plan(). Returns undefined if the header is only a part of the model's. */
  async estimateSpeed(engine: EngineModule): Promise<EngineSpeed | undefined> {
    const { embeddingTables, nThreads } = this.#options;
    const place = this.#keepsTables ? embeddingTables : 'memory';
    const header = await this.#file().reader.read(engine, place);
    if (!header) throw new KingletError('truncated', 'the file ends before its header does');
    await this.end(); // no more bytes should arrive meanwhile
    try {
      if (header.isPart() || this.estimated.plan?.weightBytes === 0) return undefined;
      const kernels = checkedKernels(engine, this.#options);
      return unwrap(header.estimateSpeed(kernels, nThreads === undefined));
    } finally {
      header.delete();
    }
  }

  async #open(named: NamedSource): Promise<OpenFile> {
    const source = await openSource(named, this.#access);
    try {
      this.estimated.fileBytes ??= source.size || undefined;
      if (!source.stored) checkModelBytes(source.size);
    } catch (error) {
      await source.end('broken');
      throw error;
    }
    return { source, reader: new HeaderReader(source) };
  }

  /** Plans the model's memory from the header of its first part: see PlanMemory. */
  async plan(engine: EngineModule, nThreads: number): Promise<number[]> {
    try {
      this.#signal.throwIfAborted();
      return await this.#planWith(engine, nThreads);
    } catch (error) {
      await this.end(isAboutBytes(error) ? 'useless' : 'broken');
      throw error;
    }
  }

  /** Puts away the first part, if it is still open. */
  async end(outcome: Outcome = 'broken'): Promise<void> {
    const first = this.#first;
    this.#first = undefined;
    await first?.source.end(outcome);
  }

  async #planWith(engine: EngineModule, nThreads: number): Promise<number[]> {
    const { embeddingTables, nCtx = 0, kv, spareMemory } = this.#options;
    const kernels = checkedKernels(engine, this.#options);
    let header = await this.#firstHeader(engine, embeddingTables);
    if (!header) return planMemory(0, undefined, spareMemory); // loading will report the error
    try {
      const { source, reader } = this.#file();
      const tableBytes = header.storedBytes();
      const isStored = source.size > 0 && (source.stored?.isKept() ?? false);
      this.#keepsTables = isStored && tableBytes > 0;
      // Other parts are assumed to need as much as the first.
      const roomBytes = this.#parts.length * header.roomBytes();
      const fileBytes = await this.#modelBytes(header);
      const modelBytes = fileBytes + roomBytes;
      this.estimated.fileBytes = fileBytes;
      if (this.#keepsTables) checkModelBytes(modelBytes - tableBytes);
      else checkModelBytes(modelBytes, tableBytes);
      if (tableBytes > 0 && !isStored) {
        header.delete();
        header = (await reader.read(engine, 'memory')) ?? header;
      }
      const session = engineOptions(nCtx, kv);
      const plan = header.isPart() ? undefined : unwrap(header.plan(kernels, nThreads, session));
      const maxima = planMemory(modelBytes - (isStored ? tableBytes : 0), plan, spareMemory);
      if (plan) Object.assign(this.estimated, { plan, memoryBytes: maxima.at(-1) });
      return maxima;
    } finally {
      header.delete();
    }
  }

  /** Reads the header of the first part, which may be another file than the one that was given. */
  async #firstHeader(engine: EngineModule, tables: TablePlace): Promise<EngineHeader | undefined> {
    const { source, reader } = this.#file();
    const header = await reader.read(engine, tables);
    const [given] = this.sources;
    // A whole file may have the name of a part, too.
    if (this.#parts.length > 1 || !header?.isPart()) return header;
    this.#parts = partsOf(given);
    if (this.#parts[0] === given) return header;
    header.delete();
    this.#first = undefined;
    await putAside(source);
    this.#first = await this.#open(this.#parts[0]);
    return this.#first.reader.read(engine, tables);
  }

  /** Returns the bytes of all parts. Parts of unknown size are assumed to be as large as the first. */
  async #modelBytes(header: EngineHeader): Promise<number> {
    const [, ...others] = this.#parts;
    const first = this.#file().source.size || undefined;
    const sizes = await Promise.all(others.map((other) => sizeOfSource(other, this.#access)));
    this.#sizes = [first, ...sizes];
    const firstBytes = first ?? header.fileBytes();
    return sizes.reduce<number>((sum, size) => sum + (size ?? firstBytes), firstBytes);
  }

  #file(): OpenFile {
    if (!this.#first) throw new Error('no file is open');
    return this.#first;
  }

  async run(engine: EngineModule): Promise<EngineModel> {
    const { source: first } = this.#file();
    const { embeddingTables, nThreads } = this.#options;
    const kernels = checkedKernels(engine, this.#options);
    const tables = this.#keepsTables ? new StoredTables(embeddingTables) : undefined;
    const loader = unwrap(
      engine.newLoader(first.size, kernels, nThreads === undefined, tables?.for(engine)),
    );
    try {
      this.#progress.begin();
      for (const [index, posted] of this.#parts.entries()) {
        const source = index === 0 ? first : await openSource(posted, this.#access);
        this.#first = undefined; // the part is put away when it has been read
        if (index > 0) unwrap(loader.nextPart(source.size));
        await this.#loadPart(engine, loader, index, source, index === 0 ? tables : undefined);
      }
      this.#progress.end();
      const model = unwrap(loader.finish());
      this.#signal.throwIfAborted();
      this.#signal.addEventListener('abort', () => tables?.file?.close());
      return model;
    } catch (error) {
      tables?.file?.close();
      throw error;
    } finally {
      loader.delete();
    }
  }

  async #loadPart(
    engine: EngineModule,
    loader: WeightLoader<EngineModel>,
    index: number,
    source: ByteSource,
    tables: StoredTables | undefined,
  ): Promise<void> {
    const isComplete = await streamWeights(engine, loader, source, {
      check: () => {
        this.#signal.throwIfAborted();
        if (tables && !source.stored?.isKept()) throw unreadable('it is not cached');
      },
      onBytes: (bytes, phase) => {
        this.#sizes[index] = loader.fileBytes() || this.#sizes[index];
        this.#progress.advance(bytes, this.#sizes, phase);
      },
      isPart: this.#parts.length > 1,
    });
    if (tables && isComplete) await openTables(tables, source);
  }
}

/** Returns all parts of a split model, if the file has the name of one. */
function partsOf(named: NamedSource): NamedSources {
  if (named.kind !== 'url') return [named];
  const urls = splitPaths(named.url);
  return atLeastOne(urls.map((url) => (url === named.url ? named : { kind: 'url', url })));
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

  /** Reports that nothing comes now, and that it is tried again. */
  retry(): void {
    this.#reportNow();
    this.#report({ ...this.#last, phase: 'retry' });
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

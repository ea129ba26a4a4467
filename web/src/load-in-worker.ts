// Loads a model, or inspects a file, in a worker of its own. If the engine's threads do not start,
// it loads again with fewer: in Firefox, a worker that starts another may hang forever while
// developer tools or test drivers watch its workers.
import { KingletError } from './errors.ts';
import type {
  AnswerOf,
  LoadedAnswer,
  LoadNotice,
  PostedEstimate,
  PostedLoadOptions,
  PostedSource,
  PostedSources,
  TakesOf,
} from './protocol.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { FileDescription, LoadOptions, ModelInfo } from './types.ts';
import { unlessAborted } from './when-aborted.ts';
import { WorkerClient } from './worker-client.ts';
import type { StartWorker, WorkerPlace } from './worker-link.ts';

type ModelCall = 'load' | 'estimate';

export interface LoadedInWorker {
  client: WorkerClient;
  loaded: LoadedAnswer;
}

type Listeners = Pick<LoadOptions, 'signal' | 'onProgress' | 'onWarning'>;

/** How long a worker's scripts may take to load and run. */
const maxScriptSeconds = 60;
/** How long a starting engine may be silent. */
const maxSilenceSeconds = 10;

/** @throws KingletError, or the signal's reason. The worker is then closed. */
export async function loadInWorker(
  start: StartWorker,
  place: WorkerPlace,
  sources: PostedSources,
  options: PostedLoadOptions,
  listeners: Listeners,
): Promise<LoadedInWorker> {
  const asked = await askForModel('load', start, place, sources, options, listeners);
  const { client, answer: loaded } = asked;
  const { runtime } = loaded.info;
  if (runtime.worker === 'own') client.watchCancelled(loaded.cancelledIds);
  if (asked.nSilent > 0) noteSilence(runtime);
  return { client, loaded };
}

/** Estimates a model in a worker of its own, which is then closed. Throws as loadInWorker() does. */
export async function estimateInWorker(
  start: StartWorker,
  place: WorkerPlace,
  sources: PostedSources,
  options: PostedLoadOptions,
  listeners: Listeners,
): Promise<PostedEstimate> {
  const asked = await askForModel('estimate', start, place, sources, options, listeners);
  asked.client.close(new KingletError('disposed', 'the model has been estimated'));
  if (asked.nSilent > 0 && asked.answer.runtime) noteSilence(asked.answer.runtime);
  return asked.answer;
}

/** Threads did not start before. */
function noteSilence(runtime: ModelInfo['runtime']): void {
  if (runtime.nThreads === 1) runtime.singleThreadReason = 'refused';
}

async function askForModel<Name extends ModelCall>(
  call: Name,
  start: StartWorker,
  place: WorkerPlace,
  sources: PostedSources,
  options: PostedLoadOptions,
  listeners: Listeners,
): Promise<{ client: WorkerClient; answer: AnswerOf<Name>; nSilent: number }> {
  const isReadOnce = streamsOf(sources, options).length > 0;
  let { nThreads, embeddingTables } = options;
  let nSilent = 0;
  let wasReminded = false;
  for (;;) {
    const client = await WorkerClient.start(start, place);
    try {
      const request: TakesOf<ModelCall> = {
        ...{ sources, options: { ...options, nThreads, embeddingTables } },
      };
      const transfer = streamsOf(sources, options);
      const takes = request as TakesOf<Name>;
      const answer = await askNewWorker(client, call, takes, listeners, transfer);
      return { client, answer, nSilent };
    } catch (error) {
      client.close(new KingletError('disposed', 'the model was not loaded'));
      if (error instanceof SilentEngine) {
        nThreads = fewerThreads(error, ++nSilent, isReadOnce);
        const message = `${error.message}; the load starts over with ${String(nThreads)}`;
        listeners.onWarning?.(new KingletError('worker_crashed', message));
      } else if (error instanceof NoRoomForEngine) {
        if (wasReminded || isReadOnce) throw error.refusal;
        wasReminded = true;
        await remindOfGarbage();
        listeners.signal?.throwIfAborted();
      } else if (error instanceof KingletError && error.code === 'cache_unavailable') {
        if (embeddingTables === 'memory' || isReadOnce) throw error;
        embeddingTables = 'memory'; // the tables cannot be read from the cache
        listeners.onWarning?.(error);
      } else throw error;
    }
  }
}

/** The browser refused the engine's memory before the engine started. */
class NoRoomForEngine extends Error {
  constructor(readonly refusal: KingletError) {
    super(refusal.message);
  }
}

/**
 * The page holds the shared memory of past models until its garbage is collected. Chromium delays
 * that because it does not count this memory: after about 120 models, none is left. Buffers that it
 * does count trigger a collection. Nothing is written to them, so they take no memory.
 */
async function remindOfGarbage(): Promise<void> {
  for (let i = 0; i < 10; ++i) {
    try {
      Array.from({ length: 20 }, () => new ArrayBuffer(2 ** 26));
    } catch {
      // A refused buffer triggers a collection, too.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function streamsOf(sources: PostedSources, options: PostedLoadOptions): ReadableStream[] {
  const { mmproj, prepared } = options;
  const all: PostedSource[] = [...sources, ...(mmproj ? [mmproj] : []), ...prepared];
  return all.flatMap((posted) => (posted.kind === 'stream' ? [posted.stream] : []));
}

class SilentEngine extends Error {
  constructor(readonly nThreads: number) {
    const threads = nThreads === 1 ? '1 thread' : `${String(nThreads)} threads`;
    super(`an engine of ${threads} gave no sign of life for ${String(maxSilenceSeconds)} seconds`);
  }
}

/** Returns first half of the threads, then one, which needs no other workers. */
function fewerThreads(
  { nThreads, message }: SilentEngine,
  nSilent: number,
  isReadOnce: boolean,
): number {
  if (nThreads === 1) throw new KingletError('worker_crashed', message);
  if (isReadOnce) {
    const why = 'a stream can be read only once: load a new one, with nThreads: 1';
    throw new KingletError('worker_crashed', `${message}, and ${why}`);
  }
  return nSilent === 1 ? Math.floor(nThreads / 2) : 1;
}

/** Asks a worker that is starting. Rejects if it or its engine does not start. */
async function askNewWorker<Name extends ModelCall | 'inspect'>(
  client: WorkerClient,
  call: Name,
  takes: TakesOf<Name>,
  { signal, onProgress, onWarning }: Listeners,
  transfer: Transferable[],
): Promise<AnswerOf<Name>> {
  const watch = new SilenceWatch();
  let hasStarted = false;
  try {
    const answer = new Promise<AnswerOf<Name>>((resolve, reject) => {
      watch.start(maxScriptSeconds, () => {
        const message =
          `the worker did not start within ${String(maxScriptSeconds)} seconds: it must run the ` +
          "package's worker/worker.js";
        reject(new KingletError('worker_unavailable', message));
      });
      const onNotice = (notice: LoadNotice) => {
        if (notice.type === 'started') hasStarted = true;
        if (notice.type === 'loading' || notice.type === 'started') watch.stop();
        else if (notice.type === 'starting') {
          watch.start(maxSilenceSeconds, () => {
            reject(new SilentEngine(notice.nThreads));
          });
        } else if (notice.type === 'progress') onProgress?.(notice.progress);
        else onWarning?.(new KingletError(notice.code, notice.message));
      };
      const onError = (error: unknown) => {
        const isRefusal = error instanceof KingletError && error.code === 'out_of_memory';
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- may be anything
        reject(isRefusal && !hasStarted ? new NoRoomForEngine(error) : error);
      };
      client.call(call, takes, { onNotice, onAnswer: resolve, onError }, transfer);
    });
    return await unlessAborted(signal, answer);
  } finally {
    watch.stop();
  }
}

/** Describes a file in a worker of its own, which is then closed. */
export async function inspectInWorker(
  start: StartWorker,
  place: WorkerPlace,
  source: PostedSource,
  options: PostedLoadOptions,
  signal: AbortSignal | undefined,
): Promise<FileDescription> {
  const client = await WorkerClient.start(start, place);
  try {
    const transfer = streamsOf([source], options);
    return await askNewWorker(client, 'inspect', { source, options }, { signal }, transfer);
  } catch (error) {
    if (error instanceof SilentEngine) throw new KingletError('worker_crashed', error.message);
    throw error instanceof NoRoomForEngine ? error.refusal : error;
  } finally {
    client.close(new KingletError('disposed', 'the file has been inspected'));
  }
}

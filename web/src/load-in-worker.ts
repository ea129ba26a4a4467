// Loads a model in a worker of its own, and once more with fewer threads where an engine's threads
// do not start: in Firefox, a worker that starts another may stop for good while developer tools or
// test drivers watch its workers.
import { KingletError } from './errors.ts';
import type { PostedLoadOptions, PostedSources } from './protocol.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { LoadOptions } from './types.ts';
import type { AnswerOf, RequestListener } from './worker-client.ts';
import { WorkerClient } from './worker-client.ts';
import type { StartWorker } from './worker-link.ts';

export interface LoadedInWorker {
  client: WorkerClient;
  loaded: AnswerOf<'loaded'>;
}

type Listeners = Pick<LoadOptions, 'signal' | 'onProgress' | 'onWarning'>;

/** How long a worker's scripts may take to come and run. */
const maxScriptSeconds = 60;
/** How long an engine that starts may be silent. */
const maxSilenceSeconds = 10;

/** @throws KingletError, or the signal's reason; no worker is left then. */
export async function loadInWorker(
  start: StartWorker,
  sources: PostedSources,
  options: PostedLoadOptions,
  listeners: Listeners,
): Promise<LoadedInWorker> {
  for (let { nThreads } = options, nAttempts = 1; ; ++nAttempts) {
    const client = await WorkerClient.start(start);
    try {
      const loaded = await askToLoad(client, sources, { ...options, nThreads }, listeners);
      const { runtime } = loaded.info;
      if (nAttempts > 1 && runtime.nThreads === 1) runtime.singleThreadReason = 'refused';
      return { client, loaded };
    } catch (error) {
      client.close(new KingletError('disposed', 'the model was not loaded'));
      if (!(error instanceof SilentEngine)) throw error;
      nThreads = fewerThreads(error, nAttempts, sources);
      const message = `${error.message}; the load starts over with ${String(nThreads)}`;
      listeners.onWarning?.(new KingletError('worker_crashed', message));
    }
  }
}

class SilentEngine extends Error {
  constructor(readonly nThreads: number) {
    const threads = nThreads === 1 ? '1 thread' : `${String(nThreads)} threads`;
    super(`an engine of ${threads} gave no sign of life for ${String(maxSilenceSeconds)} seconds`);
  }
}

/** First half of them, then one, which needs no other workers. */
function fewerThreads(
  { nThreads, message }: SilentEngine,
  nAttempts: number,
  sources: PostedSources,
): number {
  if (nThreads === 1) throw new KingletError('worker_crashed', message);
  if (sources.some(({ kind }) => kind === 'stream')) {
    const why = 'a stream can be read only once: give it anew, with nThreads: 1';
    throw new KingletError('worker_crashed', `${message}, and ${why}`);
  }
  return nAttempts === 1 ? Math.floor(nThreads / 2) : 1;
}

async function askToLoad(
  client: WorkerClient,
  sources: PostedSources,
  options: PostedLoadOptions,
  { signal, onProgress, onWarning }: Listeners,
): Promise<AnswerOf<'loaded'>> {
  const watch = new SilenceWatch();
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise((resolve, reject) => {
      onAbort = () => {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a signal's reason may be anything
        reject(signal?.reason);
      };
      if (signal?.aborted) onAbort();
      signal?.addEventListener('abort', onAbort);
      watch.start(maxScriptSeconds, () => {
        const time = `${String(maxScriptSeconds)} seconds`;
        reject(new KingletError('worker_crashed', `the worker did not start within ${time}`));
      });
      const onAnswer: RequestListener['onAnswer'] = (answer) => {
        if (answer.type === 'loading' || answer.type === 'started') watch.stop();
        else if (answer.type === 'starting') {
          watch.start(maxSilenceSeconds, () => {
            reject(new SilentEngine(answer.nThreads));
          });
        } else if (answer.type === 'progress') onProgress?.(answer.progress);
        else if (answer.type === 'loaded') resolve(answer);
        else if (answer.type === 'warning') {
          onWarning?.(new KingletError(answer.code, answer.message));
        }
      };
      client.request(
        { type: 'load', sources, options },
        { onAnswer, onError: reject },
        sources.flatMap((posted) => (posted.kind === 'stream' ? [posted.stream] : [])),
      );
    });
  } finally {
    watch.stop();
    if (onAbort) signal?.removeEventListener('abort', onAbort);
  }
}

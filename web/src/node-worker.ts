// Starts the worker as a thread of Node.
import { KingletError, messageOf } from './errors.ts';
import type { WorkerMessage } from './protocol.ts';
import { importNode } from './runtime.ts';
import type { StartWorker } from './worker-link.ts';

type NodeWorker = import('node:worker_threads').Worker;

export const startNodeWorker: StartWorker = async (listener, { url }) => {
  const script = url ?? besideThis('./worker/worker.js');
  const worker = await startThread(script);
  worker.unref();
  worker.on('message', (message: WorkerMessage) => {
    listener.onMessage(message);
  });
  worker.on('error', (error) => {
    if (isMissingModule(error)) listener.onUnavailable(notStarted(script, error));
    else listener.onCrash(error.message);
  });
  worker.on('exit', () => {
    listener.onCrash('it ended');
  });
  return {
    post: (message, transfer = []) => {
      worker.postMessage(message, transfer as import('node:worker_threads').Transferable[]);
    },
    terminate: () => {
      void worker.terminate();
    },
    setBusy: (busy) => {
      if (busy) worker.ref();
      else worker.unref();
    },
  };
};

/**
 * A function of its own, so that bundlers do not see the path and pack the worker a second time.
 */
export function besideThis(path: string): string {
  return new URL(/* webpackIgnore: true */ /* @vite-ignore */ path, import.meta.url).href;
}

async function startThread(script: string): Promise<NodeWorker> {
  try {
    const { Worker } = await importNode('worker_threads');
    // A worker inherits the program's arguments. With `node --input-type=module -e` it must not, as
    // Node refuses that option for a worker's file. The others cannot be passed on explicitly,
    // because Node would then refuse options of V8.
    return new Worker(new URL(script), isScript() ? { execArgv: [] } : {});
  } catch (error) {
    throw new KingletError('worker_unavailable', notStarted(script, error));
  }
}

function notStarted(script: string, error: unknown): string {
  return (
    `the worker could not be started from ${script}: ${messageOf(error)}. A bundled program ` +
    'must leave this package out (external), or set workerUrl to the address of its file ' +
    'worker/worker.js'
  );
}

function isMissingModule(error: Error & { code?: unknown }): boolean {
  return error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND';
}

function isScript(): boolean {
  return process.execArgv.some((argument) => argument.startsWith('--input-type'));
}

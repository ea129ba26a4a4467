// One worker, seen the same way in a browser and in Node.
import { watchLife } from './life-sign.ts';
import type { LifeSign } from './life-sign.ts';
import type { ClientMessage, WorkerMessage } from './protocol.ts';
import { importNode, isNode } from './runtime.ts';

export interface WorkerLink {
  post(message: ClientMessage, transfer?: Transferable[]): void;
  terminate(): void;
  /** An idle worker does not keep a Node process alive. */
  setBusy(busy: boolean): void;
}

export interface WorkerListener {
  onMessage(message: WorkerMessage): void;
  /** The worker could not start, or ended by itself. */
  onCrash(message: string): void;
}

export type StartWorker = (listener: WorkerListener) => Promise<WorkerLink>;

export const startWorker: StartWorker = (listener) =>
  isNode ? startNodeWorker(listener) : Promise.resolve(startBrowserWorker(listener));

function startBrowserWorker(listener: WorkerListener): WorkerLink {
  // Bundlers look for exactly this expression.
  const worker = new Worker(new URL('./worker/worker.js', import.meta.url), {
    type: 'module',
    name: 'kinglet',
  });
  const onEnd = () => {
    listener.onCrash('it ended');
  };
  worker.onmessage = ({ data }: MessageEvent<WorkerMessage | LifeSign>) => {
    if (data.type === 'alive') watchLife(data, onEnd);
    else listener.onMessage(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    listener.onCrash(event.message || 'its script could not be loaded');
  };
  return {
    post: (message, transfer = []) => {
      worker.postMessage(message, transfer);
    },
    terminate: () => {
      worker.terminate();
    },
    setBusy: () => undefined,
  };
}

async function startNodeWorker(listener: WorkerListener): Promise<WorkerLink> {
  const { Worker: NodeWorker } = await importNode('worker_threads');
  // Not in the expression itself, or a bundler would pack the worker a second time.
  const script = './worker/worker.js';
  const worker = new NodeWorker(
    new URL(/* webpackIgnore: true */ /* @vite-ignore */ script, import.meta.url),
    {
      // A worker inherits the program's arguments, but for those of `node --input-type=module -e`,
      // which Node refuses for a worker's file; given here, it would refuse those for V8 too.
      ...(isScript() ? { execArgv: [] } : {}),
    },
  );
  worker.unref();
  worker.on('message', (message: WorkerMessage) => {
    listener.onMessage(message);
  });
  worker.on('error', (error) => {
    listener.onCrash(error.message);
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
}

function isScript(): boolean {
  return process.execArgv.some((argument) => argument.startsWith('--input-type'));
}

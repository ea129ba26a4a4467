// Starts the worker in browsers, and explains why if it does not start.
import { KingletError, messageOf } from './errors.ts';
import { watchLife } from './life-sign.ts';
import type { LifeSign } from './life-sign.ts';
import { shown } from './options.ts';
import type { WorkerMessage } from './protocol.ts';
import { whyForbidden, whyNoScript } from './worker-failure.ts';
import type { WorkerScript } from './worker-failure.ts';
import type { StartWorker, WorkerPlace } from './worker-link.ts';

export const startBrowserWorker: StartWorker = (listener, place) => {
  const { worker, script, release } = makeWorker(place);
  let hasSpoken = false;
  const onEnd = () => {
    listener.onCrash('it ended');
  };
  const onMissing = () => {
    void whyNoScript(script).then((message) => {
      listener.onUnavailable(message);
    });
  };
  worker.onmessage = ({ data }: MessageEvent<WorkerMessage | LifeSign | { type: 'missing' }>) => {
    hasSpoken = true;
    if (data.type === 'alive') watchLife(data, onEnd);
    else if (data.type === 'missing') onMissing();
    else listener.onMessage(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    // If the script cannot be loaded, the event has no message.
    if (event.message) listener.onCrash(event.message);
    else if (hasSpoken) onEnd();
    else onMissing();
  };
  return Promise.resolve({
    post: (message, transfer = []) => {
      worker.postMessage(message, transfer);
    },
    terminate: () => {
      worker.terminate();
      release?.();
    },
    setBusy: () => undefined,
  });
};

// Bundlers look for exactly this expression.
const makeDefault = () =>
  new Worker(new URL('./worker/worker.js', import.meta.url), { type: 'module', name: 'kinglet' });

interface MadeWorker {
  worker: Worker;
  script: WorkerScript;
  /** Called after the worker is terminated. */
  release?: () => void;
}

function makeWorker({ make, url, isBlob }: WorkerPlace): MadeWorker {
  if (make) return checkedMade(tryToMake(make, { address: undefined, isImported: false }));
  if (typeof Worker !== 'function') {
    throw new KingletError(
      'unsupported_environment',
      `no worker can be started here (${globalThis.constructor.name}): let the engine run here ` +
        "(worker: 'here'), or load the model in a page, a worker of a page, or an extension's " +
        'offscreen document',
    );
  }
  const address = url ?? defaultAddress();
  if (isBlob) return makeImporting(address);
  const start = () =>
    url === undefined ? makeDefault() : new Worker(url, { type: 'module', name: 'kinglet' });
  return tryToMake(start, { address, isImported: false });
}

function tryToMake(start: () => Worker, script: WorkerScript): MadeWorker {
  try {
    return { worker: start(), script };
  } catch (error) {
    throw new KingletError('worker_unavailable', whyForbidden(script, messageOf(error)));
  }
}

const callersWorkers = new WeakSet<Worker>();

/** Checks what a function of the caller has returned. */
function checkedMade(made: MadeWorker): MadeWorker {
  const { worker } = made as { worker: Partial<Worker> | null | undefined };
  const isWorker =
    typeof worker?.postMessage === 'function' && typeof worker.terminate === 'function';
  const isUsed = isWorker && callersWorkers.has(made.worker);
  if (!isWorker || isUsed) {
    const found = isUsed ? 'one that it has returned before' : shown(worker);
    const message = `the function worker must return a new Worker, not ${found}`;
    throw new KingletError('invalid_argument', message);
  }
  callersWorkers.add(made.worker);
  return made;
}

/** Reads the address from the running code, because a bundler may have replaced it there. */
function defaultAddress(): string | undefined {
  const pattern = /\bnew URL\(\s*(?:\/\*[^*]*\*\/\s*)?(["'`])([^"'`]+)\1\s*[,)]/;
  const [, , path] = pattern.exec(String(makeDefault)) ?? [];
  return path === undefined
    ? undefined
    : new URL(/* webpackIgnore: true */ /* @vite-ignore */ path, import.meta.url).href;
}

/**
 * Browsers start no worker from another origin, but the page's own worker may import from there.
 */
function makeImporting(address: string | undefined): MadeWorker {
  if (address === undefined) {
    const message = 'blobWorker needs workerUrl where a bundler has moved the worker';
    throw new KingletError('invalid_argument', message);
  }
  const own = addressOf(
    `const address = ${JSON.stringify(address)}, importer = ${JSON.stringify(importer)};\n` +
      importingThreads +
      importer,
  );
  const start = () => new Worker(own, { type: 'module', name: 'kinglet' });
  const release = () => {
    URL.revokeObjectURL(own);
  };
  return { ...tryToMake(start, { address, isImported: true }), release };
}

/**
 * Returns the address of a blob with the script. Pages without an origin get a data URL instead,
 * because Chromium refuses modules from their blobs.
 */
function addressOf(code: string): string {
  return globalThis.origin === 'null'
    ? `data:text/javascript,${encodeURIComponent(code)}`
    : URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
}

/**
 * Imports the module at `address` into a worker, and gives it the messages that arrived before. It
 * uses a dynamic import, which counts as a script in all browsers. In WebKit, a static import
 * counts as a worker, which needs more headers in isolated pages.
 */
const importer = `const early = [];
const keep = (event) => early.push(event);
self.onmessage = keep;
import(address).then(
  () => {
    if (self.onmessage === keep) self.onmessage = null;
    for (const { data, ports } of early) {
      self.dispatchEvent(new MessageEvent('message', { data, ports: [...ports] }));
    }
  },
  () => self.postMessage({ type: 'missing' }),
);
`;

/** For such a worker: also starts the engine's threads from blobs that import their scripts. */
const importingThreads = `const { Worker } = self;
if (Worker) {
  self.Worker = class extends Worker {
    constructor(address, options) {
      const code = 'const address = ' + JSON.stringify(String(address)) + ';' + importer;
      super(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })), options);
    }
  };
}
`;

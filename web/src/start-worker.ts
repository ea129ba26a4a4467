import { startBrowserWorker } from './browser-worker.ts';
import { startHere } from './start-here.ts';
import { startNodeWorker } from './node-worker.ts';
import { isNode } from './runtime.ts';
import type { HereReason } from './types.ts';
import type { StartWorker, WorkerPlace } from './worker-link.ts';

const startOwn: StartWorker = isNode ? startNodeWorker : startBrowserWorker;

export const startWorker: StartWorker = async (listener, place) => {
  const reason = whyHere(place);
  if (reason) return startHere(listener, reason);
  try {
    return await startOwn(listener, place);
  } catch (error) {
    if (place.where !== undefined || !isWorker()) throw error;
    return startHere(listener, 'refused');
  }
};

function whyHere({ where }: WorkerPlace): HereReason | undefined {
  if (where === 'here') return 'requested';
  const hasNone = where === undefined && isWorker() && typeof Worker !== 'function';
  return hasNone ? 'no_workers' : undefined;
}

/** Whether this is a worker of a browser. A page must not be blocked, unless it asks for it. */
function isWorker(): boolean {
  return !isNode && typeof document === 'undefined';
}

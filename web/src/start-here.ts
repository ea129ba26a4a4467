// Finds the code that runs the engine in this thread. Pages do not need it, so it is a module of its
// own.
import { KingletError, messageOf } from './errors.ts';
import { besideThis } from './node-worker.ts';
import type { HereReason } from './types.ts';
import type { StartHere, WorkerLink, WorkerListener } from './worker-link.ts';

let provided: StartHere | undefined;

/** Called by the module `kinglet/here`, when it is imported. */
export function provideHere(start: StartHere): void {
  provided = start;
}

export async function startHere(listener: WorkerListener, reason: HereReason): Promise<WorkerLink> {
  const start = provided ?? (await importHere());
  return start(listener, reason);
}

async function importHere(): Promise<StartHere> {
  if ('ServiceWorkerGlobalScope' in globalThis) {
    throw new KingletError(
      'worker_unavailable',
      'a service worker may not import the engine later: it must also import kinglet/here, ' +
        'at the top of its script, which is a module or made by a bundler',
    );
  }
  const address = besideThis('./here/index.js');
  try {
    const module = import(/* webpackIgnore: true */ /* @vite-ignore */ address);
    return ((await module) as { startHere: StartHere }).startHere;
  } catch (error) {
    throw new KingletError(
      'worker_unavailable',
      `the engine for this thread could not be imported from ${address}: ${messageOf(error)}. ` +
        'Code that was bundled must import kinglet/here itself',
    );
  }
}

// Loads a model that all tabs of an origin share.
import { keyOf } from './cache/store.ts';
import { KingletError, messageOf } from './errors.ts';
import { loadInWorker } from './load-in-worker.ts';
import type { LoadedAnswer, PostedLoadOptions, PostedSource, PostedSources } from './protocol.ts';
import { isNode } from './runtime.ts';
import { SharedClient } from './shared-client.ts';
import type { SeatEvents } from './shared-seat.ts';
import type { LoadOptions } from './types.ts';
import { unlessAborted } from './when-aborted.ts';
import type { Client } from './worker-client.ts';
import type { StartWorker, WorkerPlace } from './worker-link.ts';

export interface LoadedShared {
  client: Client;
  loaded: Pick<LoadedAnswer, 'info' | 'session'>;
}

/** Where tabs cannot find each other, the model is loaded for this one alone, with a warning. */
export async function loadShared(
  start: StartWorker,
  place: WorkerPlace,
  sources: PostedSources,
  posted: PostedLoadOptions,
  { signal, onProgress, onWarning }: LoadOptions,
): Promise<LoadedShared> {
  const listeners = { onProgress, onWarning };
  const why = await whyAlone();
  if (why !== undefined) {
    const message = `${why}: the model is loaded for this tab alone`;
    onWarning?.(new KingletError('unsupported_environment', message));
    return loadInWorker(start, place, sources, posted, { ...listeners, signal });
  }
  const load: SeatEvents['load'] = (ending, onProgress) =>
    loadInWorker(start, place, sources, posted, { onProgress, onWarning, signal: ending });
  const name = await nameOf(sources, posted);
  signal?.throwIfAborted();
  const client = new SharedClient(name, {
    load,
    onProgress: (progress) => onProgress?.(progress),
  });
  try {
    return { client, loaded: await unlessAborted(signal, client.join()) };
  } catch (error) {
    client.close(new KingletError('disposed', 'the model was not loaded'));
    throw error;
  }
}

async function whyAlone(): Promise<string | undefined> {
  if (isNode) return 'Node has no tabs';
  if (globalThis.origin === 'null') return 'a page without an origin shares nothing';
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return 'tabs share models only on HTTPS and localhost (Web Locks)';
  try {
    new BroadcastChannel('kinglet-shared').close();
    await locks.query();
    return undefined;
  } catch (error) {
    return `tabs cannot find each other here (${messageOf(error)})`;
  }
}

declare const kingletVersion: string;

/**
 * Tabs share a model if this is equal. How a file is fetched does not matter; all else does, also the
 * package's version, whose messages others may not know.
 */
async function nameOf(sources: PostedSources, options: PostedLoadOptions): Promise<string> {
  const { prepared, mmproj } = options;
  for (const source of [...sources, ...prepared, ...(mmproj ? [mmproj] : [])]) checkShared(source);
  const fetching = { headers: undefined, stallTimeout: undefined, engineUrl: undefined };
  const same = { ...options, ...fetching };
  return `kinglet-shared:${await keyOf(JSON.stringify([kingletVersion, sources, same]))}`;
}

function checkShared(source: PostedSource): void {
  if (source.kind === 'hub' || (source.kind === 'url' && !/^blob:/i.test(source.url))) return;
  throw new KingletError(
    'invalid_argument',
    'shared needs files that every tab can read: URLs of a server or the hub, not bytes or a Blob',
  );
}

// Lets a page notice that its worker has ended, and tabs that share a model notice each other's end.
// Browsers send no event when they end a worker, because memory is short or somebody asks for it, but
// they release the locks that it held.

export interface LifeSign {
  type: 'alive';
  /** The name of the lock that the worker holds as long as it lives. */
  lock: string;
}

/**
 * For one who may end: posts the name of a lock that it holds until `release()`. `given` resolves when
 * it is posted, or when it is known that there are no locks, as in pages without HTTPS, or that they
 * are denied, as in sandboxed frames; an end before that goes unnoticed.
 */
export function giveLifeSign(post: (sign: LifeSign) => void): {
  given: Promise<void>;
  release: () => void;
} {
  const { locks } = navigator as { locks?: LockManager };
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  if (!locks) return { given: Promise.resolve(), release };
  const lock = `kinglet-worker:${crypto.randomUUID()}`;
  const given = new Promise<void>((resolve) => {
    const hold = () => {
      post({ type: 'alive', lock });
      resolve();
      return released;
    };
    locks.request(lock, hold).catch(resolve);
  });
  return { given, release };
}

/** For the other side: calls `onEnd` when it has ended for any reason, unless the signal aborts. */
export function watchLife({ lock }: LifeSign, onEnd: () => void, signal?: AbortSignal): void {
  navigator.locks.request(lock, signal ? { signal } : {}, onEnd).catch(() => undefined);
}

// Lets a page notice that its worker has ended. Browsers send no event when they end a worker,
// because memory is short or somebody asks for it, but they release the locks that it held.

export interface LifeSign {
  type: 'alive';
  /** The name of the lock that the worker holds as long as it lives. */
  lock: string;
}

/**
 * For the worker: posts the name of a lock that it holds. Does nothing where there are no locks, as
 * in pages without HTTPS, or where they are denied, as in sandboxed frames.
 */
export function giveLifeSign(post: (sign: LifeSign) => void): void {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) return;
  const lock = `kinglet-worker:${crypto.randomUUID()}`;
  const hold = () => {
    post({ type: 'alive', lock });
    return new Promise<never>(() => undefined);
  };
  locks.request(lock, hold).catch(() => undefined);
}

/** For the page: calls `onEnd` when the worker has ended for any reason. */
export function watchLife({ lock }: LifeSign, onEnd: () => void): void {
  void navigator.locks.request(lock, onEnd);
}

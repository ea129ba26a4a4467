// How a page learns that its worker is gone: browsers end workers without a word, when memory is
// short or someone asks them to, but then others get the locks that these held.

export interface LifeSign {
  type: 'alive';
  /** The name of the lock that the worker holds as long as it lives. */
  lock: string;
}

/**
 * In a worker. Does nothing where there are no locks, as in pages without HTTPS, or where they are
 * denied, as in sandboxed frames.
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

/** In the page: calls when the worker is gone, whoever ended it. */
export function watchLife({ lock }: LifeSign, onEnd: () => void): void {
  void navigator.locks.request(lock, onEnd);
}

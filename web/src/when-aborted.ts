// Waiting for signals. Node warns of a leak if a signal has more than ten listeners, which as many
// calls with the same signal would be: so a signal gets one listener, for everything that waits.

type Signal = AbortSignal | null | undefined;

interface Waiting {
  calls: Set<() => void>;
  onAbort: () => void;
}

const waitingFor = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls a function when the signal aborts, or at once if it has aborted. Returns what ends the
 * waiting.
 */
export function whenAborted(signal: Signal, call: () => void): () => void {
  if (!signal) return () => undefined;
  if (signal.aborted) {
    call();
    return () => undefined;
  }
  const { calls, onAbort } = waitingFor.get(signal) ?? listenTo(signal);
  calls.add(call);
  return () => {
    calls.delete(call);
    if (calls.size > 0 || waitingFor.get(signal)?.calls !== calls) return;
    waitingFor.delete(signal);
    signal.removeEventListener('abort', onAbort);
  };
}

function listenTo(signal: AbortSignal): Waiting {
  const calls = new Set<() => void>();
  const onAbort = () => {
    for (const call of calls) call();
  };
  const waiting = { calls, onAbort };
  waitingFor.set(signal, waiting);
  signal.addEventListener('abort', onAbort, { once: true });
  return waiting;
}

/**
 * Settles as the promise does. If the signal aborts earlier, calls `onAbort` and rejects with the
 * signal's reason.
 */
export function unlessAborted<T>(
  signal: Signal,
  done: Promise<T>,
  onAbort: () => void = () => undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopWaiting = whenAborted(signal, () => {
      onAbort();
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a signal's reason may be anything
      reject(signal?.reason);
    });
    done.finally(stopWaiting).then(resolve, reject);
  });
}

/** Returns a controller that the signals abort too, until `release` is called. */
export function controllerOf(...signals: Signal[]): {
  controller: AbortController;
  release: () => void;
} {
  const controller = new AbortController();
  const releases = signals.map((signal) =>
    whenAborted(signal, () => {
      controller.abort(signal?.reason);
    }),
  );
  return {
    controller,
    release: () => {
      for (const release of releases) release();
    },
  };
}

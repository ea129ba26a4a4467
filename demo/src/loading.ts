// A load that the page shows while it runs, of which there is one at a time in each place.
import type { LoadProgress } from 'kinglet';
import { Pace } from './pace.ts';
import type { Observable } from './ui/observable.ts';

export interface Loading {
  name: string;
  progress: LoadProgress | undefined;
  /** Bytes per second, lately; undefined in the first moments. */
  bytesPerSecond: number | undefined;
  cancel: () => void;
}

export interface LoadListeners {
  signal: AbortSignal;
  onProgress: (progress: LoadProgress) => void;
}

/**
 * Runs `load` as the one that `shown` holds, and gives what it gives; undefined when it is
 * cancelled, or when a later one takes over. `load` heeds its signal, and frees what it has made
 * when it throws.
 */
export async function showLoad<T>(
  shown: Observable<Loading | undefined>,
  name: string,
  load: (listeners: LoadListeners) => Promise<T>,
): Promise<T | undefined> {
  shown.value?.cancel();
  const controller = new AbortController();
  const { signal } = controller;
  const pace = new Pace();
  const state: Loading = {
    name,
    progress: undefined,
    bytesPerSecond: undefined,
    cancel: () => {
      controller.abort();
      if (shown.value === state) shown.value = undefined;
    },
  };
  shown.value = state;
  const onProgress = (progress: LoadProgress) => {
    state.progress = progress;
    state.bytesPerSecond = pace.add(performance.now(), progress.loaded);
    shown.notify();
  };
  try {
    return await load({ signal, onProgress });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    if (shown.value === state) shown.value = undefined;
  }
}

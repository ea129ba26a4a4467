// A load that the page shows while it runs. Each place on the page shows one load at a time.
import type { LoadProgress } from 'kinglet';
import { Pace } from './pace.ts';
import type { Observable } from './ui/observable.ts';

export interface Loading {
  name: string;
  progress: LoadProgress | undefined;
  /** Bytes per second in the last seconds; undefined at the start. */
  bytesPerSecond: number | undefined;
  cancel: () => void;
}

export interface LoadListeners {
  signal: AbortSignal;
  onProgress: (progress: LoadProgress) => void;
}

/**
 * Runs `load`, shows its progress in `shown`, and returns its result; undefined if it is cancelled
 * or a later load replaces it. `load` must obey its signal, and free what it has made if it throws.
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

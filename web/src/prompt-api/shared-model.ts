// The model that all sessions of a page share. The first session loads it.
import { ModelCache } from '../cache/model-cache.ts';
import { Kinglet } from '../kinglet.ts';
import { checkedObject } from '../options.ts';
import { sourceUrl } from '../source.ts';
import type { LoadProgress, ModelSource } from '../types.ts';
import { abortable } from './abortable.ts';
import { notSupported } from './errors.ts';
import type { Availability, PromptApiOptions } from './types.ts';

interface Waiter {
  signal: AbortSignal | undefined;
  /** Called with the share that has arrived, 0 to 1. */
  onProgress: (share: number) => void;
}

interface Loading {
  model: Promise<Kinglet>;
  controller: AbortController;
  waiters: Set<Waiter>;
}

export class SharedModel {
  readonly #options: PromptApiOptions;
  #loaded: Kinglet | undefined;
  #loading: Loading | undefined;

  constructor(options: PromptApiOptions) {
    this.#options = checkedObject('the options', options);
    if (isLoaded(options.model)) this.#loaded = options.model;
  }

  get loaded(): Kinglet | undefined {
    return this.#loaded;
  }

  async availability(): Promise<Availability> {
    if (this.#loaded) return makesText(this.#loaded) ? 'available' : 'unavailable';
    if (this.#loading) return 'downloading';
    return (await this.#isHere()) ? 'available' : 'downloadable';
  }

  /** Returns the loaded model. Rejects as the Prompt API does, or with the signal's reason. */
  async get(waiter: Waiter): Promise<Kinglet> {
    const { signal, onProgress } = waiter;
    signal?.throwIfAborted();
    onProgress(0);
    const model = this.#loaded ?? (await this.#wait(waiter));
    if (!makesText(model)) throw notSupported('The model does not generate text.');
    onProgress(1);
    return model;
  }

  /** Waits for the load, and ends it when its last waiter has left. */
  async #wait(waiter: Waiter): Promise<Kinglet> {
    const loading = (this.#loading ??= this.#load());
    loading.waiters.add(waiter);
    try {
      return await abortable(loading.model, waiter.signal);
    } finally {
      loading.waiters.delete(waiter);
      // Aborting does nothing if the load has ended.
      if (loading.waiters.size === 0) loading.controller.abort(waiter.signal?.reason);
    }
  }

  #load(): Loading {
    const controller = new AbortController();
    const waiters = new Set<Waiter>();
    const { model: source, ...options } = this.#options;
    const onProgress = (progress: LoadProgress) => {
      options.onProgress?.(progress);
      const { loaded, total } = progress;
      if (total) for (const waiter of waiters) waiter.onProgress(loaded / total);
    };
    const { signal } = controller;
    const model = Kinglet.load(source as ModelSource, { ...options, onProgress, signal });
    const loading = { model, controller, waiters };
    model
      .then((loaded) => (this.#loaded = loaded))
      .catch(() => undefined) // the waiters get the error
      .finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    signal.addEventListener('abort', () => {
      if (this.#loading === loading) this.#loading = undefined;
    });
    return loading;
  }

  /** Returns whether the model can be loaded without a download. */
  async #isHere(): Promise<boolean> {
    const { model, cache = true, ...options } = this.#options;
    const sources = (Array.isArray(model) ? model : [model]) as ModelSource[];
    const addresses = sources.filter(
      (source) => typeof source === 'string' || source instanceof URL,
    );
    try {
      const urls = addresses
        .map((address) => sourceUrl(address, options))
        .filter((url) => !url.startsWith('file:'));
      if (urls.length === 0 || cache === false) return urls.length === 0;
      const files = new ModelCache(typeof cache === 'string' ? cache : undefined);
      const areHere = await Promise.all(urls.map((url) => files.holds(url)));
      return areHere.every((isHere) => isHere);
    } catch {
      return false; // an address that names no file yet, or a cache that cannot be read
    }
  }
}

function isLoaded(model: PromptApiOptions['model']): model is Kinglet {
  return typeof model === 'object' && (model as object | null) !== null && 'info' in model;
}

function makesText({ info }: Kinglet): boolean {
  return info.hasWeights && info.purpose === 'text';
}

// The embedding model, which is loaded beside the chat model and remembered for the next visit.
import { Kinglet } from 'kinglet';
import { SearchIndex } from 'kinglet/search';
import { showLoad } from '../loading.ts';
import type { Loading } from '../loading.ts';
import { settings } from '../settings.ts';
import { RememberedChoice } from '../storage/remembered.ts';
import { Observable } from '../ui/observable.ts';
import { hubBase } from '../workspace.ts';
import type { ModelChoice } from '../workspace.ts';
import { library } from './library.ts';

export interface OpenSearchModel {
  name: string;
  kinglet: Kinglet;
  index: SearchIndex;
}

export const searchModel = new Observable<OpenSearchModel | undefined>(undefined);
export const searchModelLoading = new Observable<Loading | undefined>(undefined);

/** The choice of an earlier visit. Without a source for a picked file: it cannot be read again. */
export const rememberedChoice = new RememberedChoice('kinglet search model');

/**
 * Loads an embedding model and opens the index of texts with it; undefined if cancelled, or if a
 * later call replaced it. The caller must dispose of the model.
 *
 * @throws KingletError, for example if the model makes no embeddings.
 */
export function loadSearchModel({
  name,
  source,
}: ModelChoice): Promise<OpenSearchModel | undefined> {
  return showLoad(searchModelLoading, name, async (listeners) => {
    const kinglet = await Kinglet.load(source, {
      ...{ ...listeners, hubBase: hubBase(), nThreads: settings.value.nThreads },
      kernels: settings.value.kernels,
      nCtx: 1, // the model's first session is not used
    });
    try {
      const onChange = () => {
        library.updates.notify();
      };
      const index = await SearchIndex.open('kinglet demo', { model: kinglet, onChange });
      listeners.signal.throwIfAborted();
      return { name, kinglet, index };
    } catch (error) {
      kinglet.dispose();
      throw error;
    }
  });
}

/** The vector of each text, as the index makes those of queries or passages. */
export function vectorsOf(
  texts: readonly string[],
  kind: 'query' | 'passage',
  signal: AbortSignal,
): Promise<Float32Array[]> {
  if (!searchModel.value) return Promise.resolve([]);
  const { kinglet, index } = searchModel.value;
  const { queryPrompt, passagePrompt } = index.settings;
  const prompt = kind === 'query' ? queryPrompt : passagePrompt;
  return kinglet.embed(texts, { prompt, truncate: true, signal });
}

// The embedding model, which is loaded beside the chat model and remembered for the next visit.
import { Kinglet } from 'kinglet';
import { showLoad } from '../loading.ts';
import type { Loading } from '../loading.ts';
import { settings } from '../settings.ts';
import { RememberedChoice } from '../storage/remembered.ts';
import { Observable } from '../ui/observable.ts';
import { firstFile, hubBase } from '../workspace.ts';
import type { ModelChoice } from '../workspace.ts';
import { passageTokensOf } from './embedder.ts';
import type { SearchModel } from './embedder.ts';
import { promptsFor } from './prompts.ts';
import { fileNameOf, modelKey } from './storage-keys.ts';

export interface OpenSearchModel extends SearchModel {
  name: string;
  kinglet: Kinglet;
}

export const searchModel = new Observable<OpenSearchModel | undefined>(undefined);
export const searchModelLoading = new Observable<Loading | undefined>(undefined);

/** The choice of an earlier visit. Without a source for a picked file: it cannot be read again. */
export const rememberedChoice = new RememberedChoice('kinglet search model');

/**
 * Loads and returns an embedding model; undefined if cancelled, or if a later call replaced it. The
 * caller must dispose of it.
 *
 * @throws KingletError, and Error if the model makes no embeddings.
 */
export function loadSearchModel(choice: ModelChoice): Promise<OpenSearchModel | undefined> {
  return showLoad(searchModelLoading, choice.name, async (listeners) => {
    const kinglet = await Kinglet.load(choice.source, {
      ...{ ...listeners, hubBase: hubBase(), nThreads: settings.value.nThreads },
      kernels: settings.value.kernels,
      nCtx: 1, // the model's first session is not used
    });
    try {
      const model = await describe(choice, kinglet);
      listeners.signal.throwIfAborted();
      return model;
    } catch (error) {
      kinglet.dispose();
      throw error;
    }
  });
}

async function describe({ name, source }: ModelChoice, kinglet: Kinglet): Promise<OpenSearchModel> {
  const { info } = kinglet;
  if (info.purpose === 'ranking') throw new Error('it ranks texts and does not make embeddings');
  const file = firstFile(source);
  const fileName = fileNameOf(file instanceof File ? file.name : String(file));
  const { architecture, nParameters, embeddingSize: size, pooling = 'mean' } = info;
  const prompts = promptsFor({ architecture, name: info.name, fileName });
  const { weightBytes } = info.memory;
  const key = modelKey({
    ...{
      architecture,
      name: info.name,
      fileName,
      nParameters,
      weightBytes,
      size,
      pooling,
      prompts,
    },
  });
  const promptTokens = await kinglet.countTokens(prompts.passage);
  const passageTokens = passageTokensOf(info.contextLength, promptTokens);
  return { ...{ name, kinglet, embedder: kinglet, key, size, prompts, passageTokens } };
}

import type { EmbeddingModelV3 } from '@ai-sdk/provider';
import type { Kinglet } from '../kinglet.ts';
import { checkModel } from '../options.ts';
import type { EmbedOptions } from '../types.ts';

/** Options of {@link Kinglet.embed}. */
export type EmbeddingSettings = Pick<
  EmbedOptions,
  'pooling' | 'normalize' | 'dimensions' | 'prompt' | 'truncate'
>;

/** Returns a model for `embed` and `embedMany` of the AI SDK. */
export function embeddingModel(model: Kinglet, settings: EmbeddingSettings = {}): EmbeddingModelV3 {
  checkModel('the model', model);
  return {
    ...{ specificationVersion: 'v3', provider: 'kinglet', modelId: model.info.name },
    maxEmbeddingsPerCall: Infinity,
    supportsParallelCalls: false,
    async doEmbed({ values, abortSignal: signal }) {
      const { embeddings, nTokens } = await model.embedCounted(values, { ...settings, signal });
      return {
        embeddings: embeddings.map((vector) => [...vector]),
        usage: { tokens: nTokens.reduce((sum, n) => sum + n, 0) },
        warnings: [],
      };
    },
  };
}

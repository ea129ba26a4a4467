import type { RerankingModelV3 } from '@ai-sdk/provider';
import type { Kinglet } from '../kinglet.ts';
import { checkModel } from '../options.ts';

/** Returns a model for `rerank` of the AI SDK. It reads documents that are objects as JSON. */
export function rerankingModel(model: Kinglet): RerankingModelV3 {
  checkModel('the model', model);
  return {
    ...{ specificationVersion: 'v3', provider: 'kinglet', modelId: model.info.name },
    async doRerank({ query, documents, topN, abortSignal: signal }) {
      const texts =
        documents.type === 'text'
          ? documents.values
          : documents.values.map((value) => JSON.stringify(value));
      const ranked = await model.rerank(query, texts, { topN, signal });
      return {
        ranking: ranked.map(({ index, score }) => ({ index, relevanceScore: score })),
        warnings: [],
      };
    },
  };
}

import type { RerankingModelV3 } from '@ai-sdk/provider';
import type { Kinglet } from '../kinglet.ts';

/** For `rerank` of the AI SDK. Of documents that are objects, the model reads their JSON. */
export function rerankingModel(model: Kinglet): RerankingModelV3 {
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

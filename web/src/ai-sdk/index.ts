// Models for the AI SDK, with version 3 of its provider interface.
export { embeddingModel } from './embedding-model.ts';
export type { EmbeddingSettings } from './embedding-model.ts';
export { languageModel } from './language-model.ts';
export type { KingletProviderOptions } from './prompt.ts';
export { rerankingModel } from './reranking-model.ts';

import type { Kinglet } from '../kinglet.ts';
import type { EncodeProgress, Pooling } from '../types.ts';
import type { ReadTextOptions } from './read-text.ts';

export interface SearchIndexOptions extends ReadTextOptions {
  /** The model that makes the vectors: one for embeddings (`info.purpose`), or for text. */
  model: Kinglet;
  /**
   * Put in front of a query and of a passage, as the model was trained. Default: what the cards of
   * known models say (E5, Nomic, EmbeddingGemma, BGE, Qwen3-Embedding, Arctic, mxbai); else nothing.
   */
  queryPrompt?: string | undefined;
  passagePrompt?: string | undefined;
  /** Default: the file's, or `'mean'` for a text model whose file does not say. */
  pooling?: Pooling | undefined;
  /** Keep only the first numbers of each vector, for models trained for it. Default: all. */
  dimensions?: number | undefined;
  /** The most tokens of a passage. Default 200, or fewer if the model's context is short. */
  passageTokens?: number | undefined;
  /** Whether the index is kept for later visits. Default true. */
  keep?: boolean | undefined;
  /** Node only: where indexes are kept, each in its own folder. Default: with the models' cache. */
  folder?: string | undefined;
  /**
   * Called for what does not end the call: a stored document that is damaged and was left out, or a
   * browser that refuses storage, so that the index is not kept, or an error that `onChange` threw.
   */
  onWarning?: ((message: string) => void) | undefined;
  /**
   * Called when documents were added, changed or removed, in this tab or another, after open(). In
   * Node, other processes go unnoticed.
   */
  onChange?: (() => void) | undefined;
}

/** How an index makes its vectors. */
export interface SearchIndexSettings {
  queryPrompt: string;
  passagePrompt: string;
  pooling: string;
  dimensions: number;
}

export interface SearchDocument {
  readonly id: string;
  /** What was given to `add()`, as JSON keeps it, and frozen; undefined: nothing. */
  readonly meta: unknown;
  readonly nPassages: number;
  /**
   * Passages that cannot be found yet, because they have no vector: `add()` was cancelled or did not
   * compute them, or another model or prompt made them. See {@link SearchIndex.computePending}.
   */
  readonly nPending: number;
  /** The length of the text, in UTF-16 units. */
  readonly nCharacters: number;
}

export interface ComputeOptions {
  /** Called as passages are computed. */
  onProgress?: ((progress: EncodeProgress) => void) | undefined;
  /** If it aborts, documents that are stored stay, with the passages that were computed. */
  signal?: AbortSignal | undefined;
}

export interface AddOptions extends ComputeOptions {
  /** Anything that JSON can hold: a title, an address. It is part of the document's hits. */
  meta?: unknown;
  /** False: the passages are pending until {@link SearchIndex.computePending}. Default true. */
  compute?: boolean | undefined;
}

export interface SearchOptions {
  /** The most hits. Default 10. */
  limit?: number | undefined;
  /** Only documents for which this returns true. It cannot be asynchronous. */
  filter?: ((document: SearchDocument) => boolean) | undefined;
  /**
   * Ranks passages also by the words that they share with the query (BM25), and joins both rankings
   * (reciprocal rank fusion). Finds names, numbers and rare words better. Default false.
   */
  hybrid?: boolean | undefined;
  /** A loaded reranker: it reads the query together with the first hits, and orders them. */
  rerank?: Kinglet | undefined;
  signal?: AbortSignal | undefined;
}

/** A passage that was found. */
export interface SearchHit {
  /** The document's. */
  readonly id: string;
  readonly meta: unknown;
  readonly text: string;
  /** The passage's place in the document's text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** The first page that the passage is on, from 1, if the document is a PDF. */
  readonly page: number | undefined;
  /**
   * Larger is better: the cosine of query and passage; with `hybrid`, the sum of 1 / (60 + rank) in
   * both rankings; with `rerank`, the reranker's score.
   */
  readonly score: number;
}

// What searching needs from an embedding model. Kinglet provides it; tests use simpler ones.

export interface EmbedOptions {
  /** Put before each text. */
  prompt?: string;
  /** Cuts the end of a text that is too long, instead of refusing the text. */
  truncate?: boolean;
  signal?: AbortSignal;
}

export interface Embedder {
  /** A vector of length 1 for each text. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>;
  countTokens(text: string): Promise<number>;
}

/** An embedder, and how to use it. */
export interface SearchModel {
  embedder: Embedder;
  /** The key under which the model's indexes are stored. */
  key: string;
  /** The length of a vector. */
  size: number;
  prompts: { query: string; passage: string };
  /** The most tokens that a passage may have. */
  passageTokens: number;
}

const usualPassageTokens = 200;

/** Less than usual if the prompt and the begin and end tokens would leave too little room. */
export function passageTokensOf(contextLength: number, promptTokens: number): number {
  return Math.max(
    8,
    Math.min(usualPassageTokens, Math.floor(0.85 * (contextLength - promptTokens - 2))),
  );
}

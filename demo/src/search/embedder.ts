// What searching needs of an embedding model. Kinglet is one; tests have simpler ones.

export interface EmbedOptions {
  /** Put before each text. */
  prompt?: string;
  /** What is too long loses its end, and is not refused. */
  truncate?: boolean;
  signal?: AbortSignal;
}

export interface Embedder {
  /** A vector of length 1 for each text. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>;
  countTokens(text: string): Promise<number>;
}

/** An embedder, and how it is used. */
export interface SearchModel {
  embedder: Embedder;
  /** What its indexes are kept under. */
  key: string;
  /** Numbers of a vector. */
  size: number;
  prompts: { query: string; passage: string };
  /** Tokens of a passage at most. */
  passageTokens: number;
}

const usualPassageTokens = 200;

/** Shorter where the prompt and the marks of beginning and end would leave too little room. */
export function passageTokensOf(contextLength: number, promptTokens: number): number {
  return Math.max(
    8,
    Math.min(usualPassageTokens, Math.floor(0.85 * (contextLength - promptTokens - 2))),
  );
}

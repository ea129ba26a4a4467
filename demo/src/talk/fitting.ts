// Chooses the tokens of a long text that fit a context that is too short for all of it.
/** The most tokens of a prompt after which an answer of `maxTokens`, or half the context, fits. */
export function mostPromptTokens(nCtx: number, maxTokens: number): number {
  return nCtx - Math.min(maxTokens, nCtx >> 1);
}

/** Returns the first token, which marks a text's beginning, and as many of the last as fit. */
export function fittingTokens(tokens: readonly number[], nMost: number): readonly number[] {
  if (tokens.length <= nMost) return tokens;
  return [...tokens.slice(0, 1), ...tokens.slice(tokens.length - nMost + 1)];
}

// What of a long text the model still has in view, when its context is too short for all of it.
/** Tokens of a prompt, so that an answer of `maxTokens`, or of half the context, still fits. */
export function mostPromptTokens(nCtx: number, maxTokens: number): number {
  return nCtx - Math.min(maxTokens, nCtx >> 1);
}

/** The first token, which begins a text for the model, and as many of the last ones as fit. */
export function fittingTokens(tokens: readonly number[], nMost: number): readonly number[] {
  if (tokens.length <= nMost) return tokens;
  return [...tokens.slice(0, 1), ...tokens.slice(tokens.length - nMost + 1)];
}

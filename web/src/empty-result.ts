import type { GenerationResult } from './types.ts';

/** Returns the result of a generation that was cancelled before it began. */
export function emptyResult(seed = 0): GenerationResult {
  return {
    text: '',
    finishReason: 'cancelled',
    seed,
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    timings: {
      ...{ promptMs: 0, firstTokenMs: 0, decodeMs: 0 },
      ...{ promptTokensPerSecond: 0, tokensPerSecond: 0, guessedTokens: 0, keptTokens: 0 },
    },
  };
}

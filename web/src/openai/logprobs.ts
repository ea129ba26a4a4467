import type { Piece } from '../types.ts';
import type { TextLogprobs, TokenLogprob, TopLogprob } from './types.ts';

export function tokenLogprob({ text, logprob = 0, top = [] }: Piece): TokenLogprob {
  return { ...topLogprob({ text, logprob }), top_logprobs: top.map(topLogprob) };
}

/** Adds a token to the lists of a text completion. `offset` is where the token's text begins. */
export function addTextLogprob(
  lists: TextLogprobs,
  { text, logprob = 0, top = [] }: Piece,
  offset: number,
): void {
  lists.tokens.push(text);
  lists.token_logprobs.push(logprob);
  lists.top_logprobs.push(
    Object.fromEntries(top.map((entry) => [entry.text, entry.logprob] as const)),
  );
  lists.text_offset.push(offset);
}

export function noTextLogprobs(): TextLogprobs {
  return { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
}

function topLogprob({ text, logprob }: { text: string; logprob: number }): TopLogprob {
  return { token: text, bytes: [...new TextEncoder().encode(text)], logprob };
}

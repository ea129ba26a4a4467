import type { Piece } from '../types.ts';
import type { TextLogprobs, TokenLogprob, TopLogprob } from './types.ts';

export function tokenLogprob({ logprob = 0, top = [], ...piece }: Piece): TokenLogprob {
  const own = { text: piece.tokenText ?? piece.text, bytes: piece.tokenBytes, logprob };
  return { ...topLogprob(own), top_logprobs: top.map(topLogprob) };
}

/**
 * Adds a token to the lists of a text completion. `offset` is where the token's text begins. Returns
 * where it ends.
 */
export function addTextLogprob(
  lists: TextLogprobs,
  { logprob = 0, top = [], ...piece }: Piece,
  offset: number,
): number {
  const text = piece.tokenText ?? piece.text;
  lists.tokens.push(nameOf(text, piece.tokenBytes));
  lists.token_logprobs.push(logprob);
  const entries = new Map<string, number>();
  for (const entry of top) {
    const name = nameOf(entry.text, entry.bytes);
    // Several tokens may have one text, which names the most probable of them.
    entries.set(entries.has(name) ? `token_id:${String(entry.token)}` : name, entry.logprob);
  }
  lists.top_logprobs.push(Object.fromEntries(entries));
  lists.text_offset.push(offset);
  return offset + lengthOf(piece.tokenBytes ?? encoded(text));
}

export function noTextLogprobs(): TextLogprobs {
  return { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
}

/** Counts characters: in UTF-8 every byte begins one, except the continuation bytes. */
export function lengthOf(text: Uint8Array | string): number {
  const bytes = typeof text === 'string' ? encoded(text) : text;
  return bytes.reduce((n, byte) => n + ((byte & 0xc0) === 0x80 ? 0 : 1), 0);
}

/** Spells bytes that are a part of a character as OpenAI does, such as bytes:\xe2\x80. */
function nameOf(text: string, bytes: Uint8Array = encoded(text)): string {
  const isWhole = encoded(text).length === bytes.length && !text.includes('\uFFFD');
  if (isWhole) return text;
  return `bytes:${Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
}

function topLogprob(entry: { text: string; bytes?: Uint8Array | undefined; logprob: number }) {
  const { text, bytes = encoded(text), logprob } = entry;
  return { token: text, bytes: [...bytes], logprob } satisfies TopLogprob;
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

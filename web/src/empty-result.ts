import { isConversation } from './conversation.ts';
import type { PostedPrompt } from './protocol.ts';
import type { ChatMessage, GenerationResult } from './types.ts';

/** Returns the result of a generation that was cancelled before it began. */
export function emptyResult(
  { content, prefix }: Pick<PostedPrompt, 'content' | 'prefix'>,
  seed = 0,
): GenerationResult {
  const said = typeof prefix === 'string' ? prefix : ''; // only the engine can decode tokens
  const message: ChatMessage = { role: 'assistant', content: said };
  return {
    text: '',
    ...(isConversation(content) && { message }),
    finishReason: 'cancelled',
    seed,
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    timings: {
      ...{ promptMs: 0, firstTokenMs: 0, decodeMs: 0 },
      ...{ promptTokensPerSecond: 0, tokensPerSecond: 0, guessedTokens: 0, keptTokens: 0 },
      ...{ restoredTokens: 0, restoredBytes: 0 },
    },
  };
}

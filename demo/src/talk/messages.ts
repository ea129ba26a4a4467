// Converts a conversation to the messages for a model.
import type { ChatMessage, Piece } from 'kinglet';
import { settings } from '../settings.ts';
import type { Exchange } from './exchange.ts';

export function messagesOf(exchange: Exchange, before: readonly Exchange[]): ChatMessage[] {
  const messages: ChatMessage[] = before
    .filter((earlier) => earlier.mode === 'chat')
    .flatMap((earlier) => [questionOf(earlier), { role: 'assistant', content: earlier.text }]);
  const { system } = settings.value;
  if (system) messages.unshift({ role: 'system', content: system });
  messages.push(questionOf(exchange));
  return messages;
}

/** The user's message. Pictures come first, as in the models' training. */
function questionOf({ prompt, pictures }: Exchange): ChatMessage {
  if (pictures.length === 0) return { role: 'user', content: prompt };
  const images = pictures.map(({ file }) => ({ type: 'image', image: file }) as const);
  return { role: 'user', content: [...images, { type: 'text', text: prompt }] };
}

/** The number of all pictures of these exchanges. */
export function countPictures(said: readonly Exchange[]): number {
  return said.reduce((sum, { pictures }) => sum + pictures.length, 0);
}

/** The text that an answer begins with if its tokens are not known; else empty. */
export function textBefore(kept: readonly Piece[]): string {
  const [first] = kept;
  return first && first.token < 0 ? first.text : '';
}

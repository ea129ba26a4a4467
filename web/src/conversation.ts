import type { Conversation } from './protocol.ts';

/** Whether a prompt is that of chat(), whose answer is a message. */
export function isConversation(content: object | string | null): content is Conversation {
  return typeof content === 'object' && content !== null && 'variables' in content;
}

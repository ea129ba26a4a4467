import type { Conversation } from './protocol.ts';

/** Whether a prompt is that of chat(), whose answer is a message. */
export function isConversation(content: object | string): content is Conversation {
  return typeof content === 'object' && 'variables' in content;
}

import { KingletError } from './errors.ts';
import { checkedFlag, jsonOf } from './options.ts';
import { takePictures } from './pictures.ts';
import type { Conversation } from './protocol.ts';
import type { ChatMessage, ChatOptions, ChatTokensOptions } from './types.ts';

/**
 * Returns a conversation that the engine can lay out with the model's chat template. A text is the
 * message of a user.
 *
 * @throws KingletError `invalid_argument` if the messages or variables are not valid.
 */
export function conversationOf(
  given: string | readonly ChatMessage[],
  {
    addGenerationPrompt = true,
    tools,
    toolChoice,
    variables,
    trustContent = false,
  }: ChatTokensOptions & Pick<ChatOptions, 'toolChoice'> = {},
): Conversation {
  const messages = typeof given === 'string' ? [{ role: 'user', content: given }] : given;
  checkMessages(messages);
  const { texts, pictures } = takePictures(messages);
  const all = {
    messages: texts,
    add_generation_prompt: addGenerationPrompt,
    tools,
    ...variables,
  };
  return {
    variables: jsonOf('messages and variables', all),
    toolChoice: toolChoice === undefined ? '' : jsonOf('toolChoice', toolChoice),
    trustContent: checkedFlag('trustContent', trustContent),
    pictures,
  };
}

/** @throws KingletError `invalid_argument` */
export function checkMessages(messages: unknown): void {
  const isMessage = (message: unknown) =>
    typeof message === 'object' &&
    message !== null &&
    'role' in message &&
    'content' in message &&
    typeof message.role === 'string' &&
    (typeof message.content === 'string' ||
      Array.isArray(message.content) ||
      (message.content === null && 'tool_calls' in message && Array.isArray(message.tool_calls)));
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    throw new KingletError(
      'invalid_argument',
      'the messages must be an array of at least one { role, content }: role is a string, content ' +
        'a string, an array of parts, or null beside tool_calls',
    );
  }
}

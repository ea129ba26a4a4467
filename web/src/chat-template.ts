import { KingletError, messageOf } from './errors.ts';
import type { ChatMessage, ChatPromptOptions, ModelInfo } from './types.ts';

/**
 * Runs a file's chat template. Templates ask for what is missing by raising errors of their own,
 * such as that roles must alternate: these arrive as `invalid_argument`, in their words.
 */
export async function renderChat(
  info: Pick<ModelInfo, 'chatTemplate' | 'bosToken' | 'eosToken'>,
  messages: readonly ChatMessage[],
  { addGenerationPrompt = true, variables = {} }: ChatPromptOptions = {},
): Promise<string> {
  checkMessages(messages);
  if (info.chatTemplate === undefined) {
    throw new KingletError('missing_metadata', 'this file has no chat template');
  }
  const { Template } = await import('./jinja.ts');
  let template: InstanceType<typeof Template>;
  try {
    template = new Template(info.chatTemplate);
  } catch (error) {
    throw new KingletError(
      'unsupported_feature',
      `the file's chat template cannot be read: ${messageOf(error)}`,
    );
  }
  try {
    return template.render({
      messages,
      add_generation_prompt: addGenerationPrompt,
      bos_token: info.bosToken,
      eos_token: info.eosToken,
      ...variables,
    });
  } catch (error) {
    throw new KingletError(
      'invalid_argument',
      `the model's chat template refuses this conversation: ${messageOf(error)}`,
    );
  }
}

function checkMessages(messages: unknown): void {
  const isMessage = (message: unknown) =>
    typeof message === 'object' &&
    message !== null &&
    'role' in message &&
    'content' in message &&
    typeof message.role === 'string' &&
    typeof message.content === 'string';
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    throw new KingletError(
      'invalid_argument',
      'the messages must be a list of at least one { role, content }, both of them strings',
    );
  }
}

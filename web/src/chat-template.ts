import { KingletError, messageOf } from './errors.ts';
import type { MarkedTemplate } from './marked-template.ts';
import { checkedFlag } from './options.ts';
import type { ChatText } from './protocol.ts';
import type { ChatMessage, ChatPromptOptions, ChatTokensOptions, ModelInfo } from './types.ts';

type Variables = Record<string, unknown>;
type OwnVariables = Record<'bos_token' | 'eos_token', string>;
type TemplateInfo = Pick<ModelInfo, 'chatTemplate' | 'bosToken' | 'eosToken'>;

/**
 * Runs a file's chat template. Templates ask for what is missing by raising errors of their own,
 * such as that roles must alternate: these arrive as `invalid_argument`, in their words.
 */
export async function renderChat(
  info: TemplateInfo,
  messages: readonly ChatMessage[],
  options: ChatPromptOptions = {},
): Promise<string> {
  return run(info, messages, options, (template, variables, own) =>
    template.render({ ...own, ...variables }),
  );
}

/** As renderChat(), for the engine to encode: messages spell control tokens only where trusted. */
export async function layOutChat(
  info: TemplateInfo,
  messages: readonly ChatMessage[],
  { trustContent = false, ...options }: ChatTokensOptions = {},
): Promise<ChatText> {
  if (checkedFlag('trustContent', trustContent)) {
    return { texts: [await renderChat(info, messages, options)] };
  }
  const texts = await run(info, messages, options, (template, variables, own) => {
    const roles = messages.map(({ role }) => role);
    return template.renderInTurn(variables, own, roles);
  });
  if (texts) return { texts };
  throw new KingletError(
    'unsupported_feature',
    "what the model's chat template writes itself cannot be told from what the messages say; " +
      'trustContent lets them spell control tokens, as the template does',
  );
}

async function run<T>(
  info: TemplateInfo,
  messages: readonly ChatMessage[],
  { addGenerationPrompt = true, variables = {} }: ChatPromptOptions,
  render: (template: MarkedTemplate, variables: Variables, own: OwnVariables) => T,
): Promise<T> {
  checkMessages(messages);
  if (info.chatTemplate === undefined) {
    throw new KingletError('missing_metadata', 'this file has no chat template');
  }
  const { MarkedTemplate: Template } = await import('./marked-template.ts');
  let template: MarkedTemplate;
  try {
    template = new Template(info.chatTemplate);
  } catch (error) {
    throw new KingletError(
      'unsupported_feature',
      `the file's chat template cannot be read: ${messageOf(error)}`,
    );
  }
  try {
    return render(
      template,
      { messages, add_generation_prompt: addGenerationPrompt, ...variables },
      { bos_token: info.bosToken, eos_token: info.eosToken },
    );
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

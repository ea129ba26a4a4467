// Lays out conversations with the model's chat template.
import type { EngineChat, EngineModel, EngineModelInfo, EngineModule } from '#engine';
import { KingletError } from '../errors.ts';
import { markPattern } from '../pictures.ts';
import type { ChatText, Conversation, Pictures, PostedEncoding } from '../protocol.ts';
import { unwrap } from './engine-error.ts';

export type Templates = Pick<
  EngineModelInfo,
  'chatTemplate' | 'toolChatTemplate' | 'bosToken' | 'eosToken'
>;

export class ChatLayout {
  readonly #engine: EngineModule;
  readonly #templates: Templates;
  /** For each template that was run: whether it needs messages as lists of parts. */
  readonly #readsParts = new Map<string, boolean>();

  constructor(engine: EngineModule, templates: Templates) {
    this.#engine = engine;
    this.#templates = templates;
  }

  /** Throws if the template cannot be read. */
  check(): void {
    this.#run({ template: this.#templates.chatTemplate, variables: '' });
  }

  /** Returns the template's source; empty if there is none. */
  template(hasTools: boolean): string {
    const { chatTemplate, toolChatTemplate } = this.#templates;
    return (hasTools && toolChatTemplate) || chatTemplate;
  }

  layOut({ variables, hasTools, trustContent, pictures }: Conversation): ChatText {
    const template = this.template(hasTools);
    if (template === '') {
      throw new KingletError(
        'missing_metadata',
        'this file has no chat template: metadata "tokenizer.chat_template" is missing',
      );
    }
    const readsParts = this.#readsParts.get(template) ?? this.#findReadsParts(template);
    this.#readsParts.set(template, readsParts);
    const given = readsParts ? withParts(variables) : variables;
    const texts = this.#run({ template, variables: given });
    if (pictures) checkPictures(pictures, variables, texts);
    return { texts: trustContent ? [texts.join('')] : texts, pictures };
  }

  /** Returns whether a template leaves out messages whose content is not a list of parts. */
  #findReadsParts(template: string): boolean {
    const mark = 'any text';
    const messages = [{ role: 'user', content: mark }];
    const plain = JSON.stringify({ messages, add_generation_prompt: true });
    const saysIt = (variables: string) => {
      try {
        return this.#run({ template, variables }).join('').includes(mark);
      } catch (error) {
        if (!(error instanceof KingletError)) throw error;
        return false;
      }
    };
    return !saysIt(plain) && saysIt(withParts(plain));
  }

  #run(request: Pick<EngineChat, 'template' | 'variables'>): string[] {
    const { bosToken: bos, eosToken: eos } = this.#templates;
    return unwrap(this.#engine.layOut({ ...request, bos, eos }));
  }
}

/** Converts the messages' texts to lists of parts, as OpenAI's API has them for pictures, too. */
function withParts(variables: string): string {
  const { messages, ...others } = JSON.parse(variables) as { messages: { content: string }[] };
  const made = messages.map(({ content, ...message }) => ({
    ...message,
    content: [{ type: 'text', text: content }],
  }));
  return JSON.stringify({ ...others, messages: made });
}

/**
 * Returns the tokens of a text, or of a laid-out conversation with the template's control tokens.
 */
export function encoded(
  model: EngineModel,
  content: string | ChatText,
  { addBos, parseSpecial }: PostedEncoding,
): Int32Array {
  return typeof content === 'string'
    ? model.encode([content], addBos, parseSpecial)
    : model.encode(content.texts, addBos, true);
}

/** @throws KingletError: unsupported_feature if the template leaves out a picture of a message. */
function checkPictures(pictures: Pictures, variables: string, texts: readonly string[]): void {
  const marks = (text: string) => [...text.matchAll(markPattern(pictures))].map(([mark]) => mark);
  const laidOut = new Set(marks(texts.join('')));
  if (marks(variables).every((mark) => laidOut.has(mark))) return;
  throw new KingletError(
    'unsupported_feature',
    'the chat template leaves out a picture of the messages',
  );
}

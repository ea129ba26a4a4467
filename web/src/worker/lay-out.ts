// What a conversation becomes: the model's chat template is run by a module of its own, which is
// fetched when it is first needed.
import type { EngineModel, EngineModelInfo, EngineResult } from '#engine';
import { KingletError } from '../errors.ts';
import { markPattern } from '../pictures.ts';
import type { ChatText, Conversation, Pictures, PostedEncoding } from '../protocol.ts';
import { unwrap } from './engine-error.ts';

/** A template, and what it is run on. */
export interface LayOutRequest {
  template: string;
  /** How the vocabulary spells its marks. */
  bos: string;
  eos: string;
  /** JSON, with `messages`; empty: the template is only read. */
  variables: string;
}

/** What runs templates: in turn the template's own text and what the messages say. */
export interface ChatEngine {
  layOut(request: LayOutRequest): EngineResult<string[]>;
}

export type Templates = Pick<
  EngineModelInfo,
  'chatTemplate' | 'toolChatTemplate' | 'bosToken' | 'eosToken'
>;

export class ChatLayout {
  readonly #open: () => Promise<ChatEngine>;
  readonly #templates: Templates;
  #engine: Promise<ChatEngine> | undefined;
  /** Of templates that were run. */
  readonly #readsParts = new Map<string, boolean>();

  constructor(open: () => Promise<ChatEngine>, templates: Templates) {
    this.#open = open;
    this.#templates = templates;
  }

  /** Rejects where the template cannot be read. */
  async check(): Promise<void> {
    await this.#run({ template: this.#templates.chatTemplate, variables: '' });
  }

  /** Empty where there is none. */
  template(hasTools: boolean): string {
    const { chatTemplate, toolChatTemplate } = this.#templates;
    return (hasTools && toolChatTemplate) || chatTemplate;
  }

  async layOut({ variables, hasTools, trustContent, pictures }: Conversation): Promise<ChatText> {
    const template = this.template(hasTools);
    if (template === '') {
      throw new KingletError(
        'missing_metadata',
        'this file has no chat template: metadata "tokenizer.chat_template" is missing',
      );
    }
    const readsParts = this.#readsParts.get(template) ?? (await this.#findReadsParts(template));
    this.#readsParts.set(template, readsParts);
    const given = readsParts ? withParts(variables) : variables;
    const texts = await this.#run({ template, variables: given });
    if (pictures) checkPictures(pictures, variables, texts);
    return { texts: trustContent ? [texts.join('')] : texts, pictures };
  }

  /** Whether a template leaves out what a message says unless it comes as a list of parts. */
  async #findReadsParts(template: string): Promise<boolean> {
    const mark = 'any text';
    const messages = [{ role: 'user', content: mark }];
    const plain = JSON.stringify({ messages, add_generation_prompt: true });
    const saysIt = async (variables: string) => {
      try {
        return (await this.#run({ template, variables })).join('').includes(mark);
      } catch (error) {
        if (!(error instanceof KingletError) || error.code === 'worker_unavailable') throw error;
        return false;
      }
    };
    return !(await saysIt(plain)) && (await saysIt(withParts(plain)));
  }

  async #run(request: Pick<LayOutRequest, 'template' | 'variables'>): Promise<string[]> {
    this.#engine ??= this.#open();
    try {
      const { bosToken: bos, eosToken: eos } = this.#templates;
      return unwrap((await this.#engine).layOut({ ...request, bos, eos }));
    } catch (error) {
      // One that could not be fetched may be there next time; one that trapped is not used again.
      if (!(error instanceof KingletError) || error.code === 'worker_unavailable') {
        this.#engine = undefined;
      }
      throw error;
    }
  }
}

/** The messages with their texts as parts, the form in which OpenAI's API has pictures too. */
function withParts(variables: string): string {
  const { messages, ...others } = JSON.parse(variables) as { messages: { content: string }[] };
  const made = messages.map(({ content, ...message }) => ({
    ...message,
    content: [{ type: 'text', text: content }],
  }));
  return JSON.stringify({ ...others, messages: made });
}

/** The tokens of a text, or of a conversation that is laid out, with the template's control tokens. */
export function encoded(
  model: EngineModel,
  content: string | ChatText,
  { addBos, parseSpecial }: PostedEncoding,
): Int32Array {
  return typeof content === 'string'
    ? model.encode([content], addBos, parseSpecial)
    : model.encode(content.texts, addBos, true);
}

/** @throws KingletError unsupported_feature: the template leaves out one of a message. */
function checkPictures(pictures: Pictures, variables: string, texts: readonly string[]): void {
  const marks = (text: string) => [...text.matchAll(markPattern(pictures))].map(([mark]) => mark);
  const laidOut = new Set(marks(texts.join('')));
  if (marks(variables).every((mark) => laidOut.has(mark))) return;
  throw new KingletError(
    'unsupported_feature',
    'the chat template leaves out a picture of the messages',
  );
}

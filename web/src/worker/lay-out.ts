// Lays out conversations with the model's chat template. A separate module runs templates; it is
// fetched when it is first needed.
import type { EngineModel, EngineModelInfo, EngineResult } from '#engine';
import { KingletError } from '../errors.ts';
import { markPattern } from '../pictures.ts';
import type { ChatText, Conversation, Pictures, PostedEncoding } from '../protocol.ts';
import { unwrap } from './engine-error.ts';

/** A template and its inputs. */
export interface LayOutRequest {
  template: string;
  /** The texts of the beginning-of-sequence and end-of-sequence tokens. */
  bos: string;
  eos: string;
  /** JSON, with `messages`. If empty, the template is only checked. */
  variables: string;
}

/** Runs templates. The texts are alternately the template's own text and text of the messages. */
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
  /** For each template that was run: whether it needs messages as lists of parts. */
  readonly #readsParts = new Map<string, boolean>();

  constructor(open: () => Promise<ChatEngine>, templates: Templates) {
    this.#open = open;
    this.#templates = templates;
  }

  /** Rejects if the template cannot be read. */
  async check(): Promise<void> {
    await this.#run({ template: this.#templates.chatTemplate, variables: '' });
  }

  /** Returns the template's source; empty if there is none. */
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

  /** Returns whether a template leaves out messages whose content is not a list of parts. */
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
      // A module that could not be fetched is fetched again. One that trapped is not used again.
      if (!(error instanceof KingletError) || error.code === 'worker_unavailable') {
        this.#engine = undefined;
      }
      throw error;
    }
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

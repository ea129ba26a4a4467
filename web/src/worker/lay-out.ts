// What a conversation becomes: the model's chat template is run by a module of its own, which is
// fetched when it is first needed.
import type { EngineModel, EngineModelInfo, EngineResult } from '#engine';
import { KingletError } from '../errors.ts';
import type { ChatText, Conversation, PostedEncoding } from '../protocol.ts';
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
  readonly templates: Templates;
  readonly #open: () => Promise<ChatEngine>;
  #engine: Promise<ChatEngine> | undefined;

  constructor(open: () => Promise<ChatEngine>, templates: Templates) {
    this.#open = open;
    this.templates = templates;
  }

  /** Rejects where the template cannot be read. */
  async check(): Promise<void> {
    await this.#run({ template: this.templates.chatTemplate, variables: '' });
  }

  async layOut({ variables, hasTools, trustContent }: Conversation): Promise<ChatText> {
    const { chatTemplate, toolChatTemplate } = this.templates;
    const template = (hasTools && toolChatTemplate) || chatTemplate;
    if (template === '') {
      throw new KingletError(
        'missing_metadata',
        'this file has no chat template: metadata "tokenizer.chat_template" is missing',
      );
    }
    const texts = await this.#run({ template, variables });
    return { texts: trustContent ? [texts.join('')] : texts };
  }

  async #run(request: Pick<LayOutRequest, 'template' | 'variables'>): Promise<string[]> {
    this.#engine ??= this.#open();
    try {
      const { bosToken: bos, eosToken: eos } = this.templates;
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

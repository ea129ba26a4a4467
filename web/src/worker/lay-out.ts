// Lays out conversations with the model's chat template.
import type { EngineApi, EngineModel, EngineModelInfo } from '#engine';
import { KingletError } from '../errors.ts';
import { markPattern } from '../pictures.ts';
import type { ChatText, Conversation, Pictures, PostedEncoding } from '../protocol.ts';
import { unwrap } from './engine-error.ts';

export type Templates = Pick<EngineModelInfo, 'chatTemplate' | 'toolChatTemplate'>;

export class ChatLayout {
  readonly #newApi: () => EngineApi;
  readonly #templates: Templates;
  #api: EngineApi | undefined;

  constructor(newApi: () => EngineApi, templates: Templates) {
    this.#newApi = newApi;
    this.#templates = templates;
  }

  /** Made when it is first needed, because it reads the templates. */
  get api(): EngineApi {
    return (this.#api ??= this.#newApi());
  }

  /** Returns the template's source; empty if there is none. */
  template(hasTools: boolean): string {
    const { chatTemplate, toolChatTemplate } = this.#templates;
    return (hasTools && toolChatTemplate) || chatTemplate;
  }

  layOut({ variables, hasTools, trustContent, pictures, isRequest }: Conversation): ChatText {
    const texts = unwrap(this.api.layOut(variables, hasTools, isRequest === true));
    if (pictures) checkPictures(pictures, variables, texts);
    return { texts: trustContent ? [texts.join('')] : texts, pictures };
  }
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

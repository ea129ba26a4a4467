import type { Kinglet } from '../kinglet.ts';
import { ChatCompletions } from './chat-completions.ts';
import { Embeddings } from './embeddings.ts';
import { Responses } from './responses.ts';
import { TextCompletions } from './text-completions.ts';
import type { OpenAIOptions } from './types.ts';

export type { AnswerStream } from './answers.ts';
export type { ChatCompletions } from './chat-completions.ts';
export type { Embeddings } from './embeddings.ts';
export { createFetch } from './fetch.ts';
export type { RerankAnswer, RerankParams } from './rerank.ts';
export type { Responses } from './responses.ts';
export type * from './responses-types.ts';
export type { TextCompletions } from './text-completions.ts';
export type * from './types.ts';

/** A model with the methods of OpenAI's client. */
export interface OpenAI {
  chat: { completions: ChatCompletions };
  completions: TextCompletions;
  embeddings: Embeddings;
  responses: Responses;
}

/**
 * Returns an object that lets code written for OpenAI's client use a model in the page:
 *
 * ```js
 * const model = openAI(await Kinglet.load(url));
 * const answer = await model.chat.completions.create({ messages });
 * ```
 *
 * All answers run in the session that the model has from the start, one after the other. A request
 * that asks for something unsupported rejects with `invalid_argument`: no such part is left out.
 */
export function openAI(model: Kinglet, options: OpenAIOptions = {}): OpenAI {
  return {
    chat: { completions: new ChatCompletions(model, options) },
    completions: new TextCompletions(model),
    embeddings: new Embeddings(model),
    responses: new Responses(model, options),
  };
}

import { checkedFlag, checkModel, checkSignal, jsonOf } from '../options.ts';
import type { Kinglet } from '../kinglet.ts';
import { controllerOf } from '../when-aborted.ts';
import { AnswerStream, errorOf } from './answer-stream.ts';
import type { ErrorBody } from './answer-stream.ts';
import type { OpenAI } from './client-types.ts';
import type { OpenAIOptions, RequestOptions } from './types.ts';

export type { AnswerStream } from './answer-stream.ts';
export { createFetch } from './fetch.ts';
export type * from './client-types.ts';
export type * from './responses-types.ts';
export type * from './types.ts';

/**
 * Returns an object that lets code written for OpenAI's client use a model in the page:
 *
 * ```js
 * const model = openAI(await Kinglet.load(url));
 * const answer = await model.chat.completions.create({ messages });
 * ```
 *
 * All answers run in the session that the model has from the start, one after the other. A request
 * that needs something unsupported rejects with `invalid_argument`: unsupported parts are never ignored.
 */
export function openAI(model: Kinglet, { trustContent = false }: OpenAIOptions = {}): OpenAI {
  checkModel('the model', model);
  const at = (path: string) => ({
    create: async (params: object, options: RequestOptions = {}): Promise<unknown> => {
      checkSignal(options.signal ?? undefined);
      const body = jsonOf('request', params);
      const trusts = checkedFlag('trustContent', trustContent);
      const request = { method: 'POST', path, body, trustContent: trusts };
      const { controller, release } = controllerOf(options.signal);
      const answer = await model.ask(request, controller.signal).catch((error: unknown) => {
        release();
        throw error;
      });
      if (answer.events) return new AnswerStream(controller, answer.events, release);
      release();
      const reply = JSON.parse(answer.body) as object;
      if (answer.status !== 200) throw errorOf(reply as ErrorBody);
      return reply;
    },
  });
  return {
    chat: { completions: at('/chat/completions') },
    completions: at('/completions'),
    embeddings: at('/embeddings'),
    responses: at('/responses'),
  } as OpenAI;
}

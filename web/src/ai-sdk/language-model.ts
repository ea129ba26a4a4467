import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import type { Kinglet } from '../kinglet.ts';
import { answerHead, controllerOf } from '../openai/answers.ts';
import type { CountedResult } from '../openai/answers.ts';
import { answerEvents, prepareChat } from '../openai/chat-answers.ts';
import type { ChatRequest } from '../openai/chat-answers.ts';
import { reading } from '../openai/request.ts';
import type { ChatFinishReason, OpenAIOptions } from '../openai/types.ts';
import { AnswerParts, finishReasonOf, tokensOf } from './answer.ts';
import { askedOf } from './prompt.ts';
import type { Asked } from './prompt.ts';

/**
 * Returns a model for `generateText`, `streamText` and the AI SDK's other functions for text:
 *
 * ```js
 * const model = languageModel(await Kinglet.load(url));
 * const { text } = await generateText({ model, prompt: 'Hello' });
 * ```
 *
 * All answers run in the session that the model has from the start, one after the other.
 */
export function languageModel(model: Kinglet, options: OpenAIOptions = {}): LanguageModelV3 {
  const begin = async (call: LanguageModelV3CallOptions) => {
    const asked = reading(() => askedOf(call));
    const controller = controllerOf({ signal: call.abortSignal });
    const request = await prepareChat(model, asked.params, options, controller.signal);
    return { answer: new Answer(request, asked), controller };
  };
  return {
    ...{ specificationVersion: 'v3', provider: 'kinglet', modelId: model.info.name },
    supportedUrls: { 'image/*': [/^https?:/] },
    async doGenerate(call) {
      const { answer } = await begin(call);
      return answer.whole();
    },
    async doStream(call) {
      const { answer, controller } = await begin(call);
      return { stream: await streamOf(answer.parts(), controller) };
    },
  };
}

class Answer {
  readonly #request: ChatRequest;
  readonly #asked: Asked;
  readonly #parts = new AnswerParts();
  readonly #results: CountedResult[] = [];
  #finish: ChatFinishReason = 'stop';

  constructor(request: ChatRequest, asked: Asked) {
    this.#request = request;
    this.#asked = asked;
  }

  async *parts(): AsyncGenerator<LanguageModelV3StreamPart, void, void> {
    const events = answerEvents(this.#request, 0, this.#results);
    try {
      // A request that cannot be answered fails before the first part.
      let next = await events.next();
      yield { type: 'stream-start', warnings: this.#asked.warnings };
      yield { type: 'response-metadata', ...this.#head() };
      for (; !next.done; next = await events.next()) yield* this.#parts.add(next.value);
      this.#finish = next.value;
      yield* this.#parts.end();
      yield { type: 'finish', ...this.#end() };
    } finally {
      await events.return('stop');
    }
  }

  async whole(): Promise<LanguageModelV3GenerateResult> {
    const parts = this.parts();
    while ((await parts.next()).done !== true);
    const { warnings } = this.#asked;
    return { content: this.#parts.content, ...this.#end(), warnings, response: this.#head() };
  }

  #head() {
    const { id, created, model } = answerHead('aitxt', {}, this.#request.model.info);
    return { id, timestamp: new Date(created * 1000), modelId: model };
  }

  #end() {
    return { usage: tokensOf(this.#results), finishReason: finishReasonOf(this.#finish) };
  }
}

/** Returns the parts as a stream. Rejects if already the first part fails. */
async function streamOf(
  parts: AsyncGenerator<LanguageModelV3StreamPart, void, void>,
  controller: AbortController,
): Promise<ReadableStream<LanguageModelV3StreamPart>> {
  let first: IteratorResult<LanguageModelV3StreamPart, void> | undefined = await parts.next();
  return new ReadableStream<LanguageModelV3StreamPart>({
    async pull(output) {
      try {
        const { done, value } = first ?? (await parts.next());
        first = undefined;
        if (done) output.close();
        else output.enqueue(value);
      } catch (error) {
        controller.signal.throwIfAborted();
        output.enqueue({ type: 'error', error });
        const finishReason = { unified: 'error', raw: undefined } as const;
        output.enqueue({ type: 'finish', usage: tokensOf([]), finishReason });
        output.close();
      }
    },
    cancel(reason) {
      controller.abort(reason);
    },
  });
}

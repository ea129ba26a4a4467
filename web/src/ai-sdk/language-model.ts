import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import type { Kinglet } from '../kinglet.ts';
import type { AnswerStream } from '../openai/answer-stream.ts';
import { openAI } from '../openai/index.ts';
import type {
  ChatCompletionChunk,
  ChatFinishReason,
  CompletionUsage,
  OpenAIOptions,
} from '../openai/types.ts';
import { AnswerParts, finishReasonOf, tokensOf } from './answer.ts';
import { chatRequestOf } from './prompt.ts';
import type { ChatRequest } from './prompt.ts';

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
  const { chat } = openAI(model, options);
  const begin = async (call: LanguageModelV3CallOptions) => {
    const asked = chatRequestOf(call);
    const stream = { stream: true, stream_options: { include_usage: true } } as const;
    const { abortSignal: signal } = call;
    return new Answer(
      await chat.completions.create({ ...asked.params, ...stream }, { signal }),
      asked,
    );
  };
  return {
    ...{ specificationVersion: 'v3', provider: 'kinglet', modelId: model.info.name },
    supportedUrls: { 'image/*': [/^https?:/] },
    async doGenerate(call) {
      return (await begin(call)).whole();
    },
    async doStream(call) {
      const answer = await begin(call);
      return { stream: streamOf(answer.parts(), answer.controller) };
    },
  };
}

class Answer {
  readonly #chunks: AnswerStream<ChatCompletionChunk>;
  readonly #asked: ChatRequest;
  readonly #parts = new AnswerParts();
  #head: Pick<ChatCompletionChunk, 'id' | 'created' | 'model'> = { id: '', created: 0, model: '' };
  #usage: CompletionUsage | undefined;
  #finish: ChatFinishReason = 'stop';

  constructor(chunks: AnswerStream<ChatCompletionChunk>, asked: ChatRequest) {
    this.#chunks = chunks;
    this.#asked = asked;
  }

  get controller(): AbortController {
    return this.#chunks.controller;
  }

  async *parts(): AsyncGenerator<LanguageModelV3StreamPart, void, void> {
    yield { type: 'stream-start', warnings: this.#asked.warnings };
    let isFirst = true;
    for await (const chunk of this.#chunks) {
      this.#head = chunk;
      if (isFirst) yield { type: 'response-metadata', ...this.#response() };
      isFirst = false;
      this.#usage = chunk.usage ?? undefined;
      for (const { delta, finish_reason: finish } of chunk.choices) {
        yield* this.#parts.add(delta);
        this.#finish = finish ?? this.#finish;
      }
    }
    yield* this.#parts.end();
    yield { type: 'finish', ...this.#end() };
  }

  async whole(): Promise<LanguageModelV3GenerateResult> {
    const parts = this.parts();
    while ((await parts.next()).done !== true);
    const { warnings } = this.#asked;
    return { content: this.#parts.content, ...this.#end(), warnings, response: this.#response() };
  }

  #response() {
    const { id, created, model } = this.#head;
    return { id, timestamp: new Date(created * 1000), modelId: model };
  }

  #end() {
    return { usage: tokensOf(this.#usage), finishReason: finishReasonOf(this.#finish) };
  }
}

/** Returns the parts as a stream. */
function streamOf(
  parts: AsyncGenerator<LanguageModelV3StreamPart, void, void>,
  controller: AbortController,
): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream<LanguageModelV3StreamPart>({
    async pull(output) {
      try {
        const { done, value } = await parts.next();
        if (done) output.close();
        else output.enqueue(value);
      } catch (error) {
        controller.signal.throwIfAborted();
        output.enqueue({ type: 'error', error });
        const finishReason = { unified: 'error', raw: undefined } as const;
        output.enqueue({ type: 'finish', usage: tokensOf(undefined), finishReason });
        output.close();
      }
    },
    cancel(reason) {
      controller.abort(reason);
    },
  });
}

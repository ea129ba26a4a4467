// The methods of OpenAI's client that openAI() returns.
import type { AnswerStream } from './answer-stream.ts';
import type { ModelResponse, ResponseParams, ResponseStreamEvent } from './responses-types.ts';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionParams,
  EmbeddingList,
  EmbeddingParams,
  NonStreaming,
  RequestOptions,
  Streaming,
  TextCompletion,
  TextCompletionParams,
} from './types.ts';

/** Gives an answer at once, or in parts with `stream`. */
export interface Answering<Params, Answer, Part> {
  create(params: Params & NonStreaming, options?: RequestOptions): Promise<Answer>;
  create(params: Params & Streaming, options?: RequestOptions): Promise<AnswerStream<Part>>;
  create(
    params: Params & (NonStreaming | Streaming),
    options?: RequestOptions,
  ): Promise<Answer | AnswerStream<Part>>;
}

/** Answers conversations. */
export type ChatCompletions = Answering<ChatCompletionParams, ChatCompletion, ChatCompletionChunk>;

/** Continues one or several prompts. */
export type TextCompletions = Answering<TextCompletionParams, TextCompletion, TextCompletion>;

/** Answers a text or a conversation; parts are events. */
export type Responses = Answering<ResponseParams, ModelResponse, ResponseStreamEvent>;

export interface Embeddings {
  /**
   * Returns a vector of length 1 for each input: see `embed()` of the model. As in OpenAI's client,
   * the type of a vector is `number[]` even where `encoding_format` may make it a string.
   */
  create(
    params: EmbeddingParams & { encoding_format: 'base64' },
    options?: RequestOptions,
  ): Promise<EmbeddingList<string>>;
  create(params: EmbeddingParams, options?: RequestOptions): Promise<EmbeddingList>;
}

/** A model with the methods of OpenAI's client. */
export interface OpenAI {
  chat: { completions: ChatCompletions };
  completions: TextCompletions;
  embeddings: Embeddings;
  responses: Responses;
}

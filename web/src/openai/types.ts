// The shapes of OpenAI's API, as far as they are answered here: what its official client takes and
// gives can be taken and given without change. Names and fields: the reference of that API.

import type { Pooling } from '../types.ts';

/** What both kinds of completion understand. What is left out or null is as in `generate()`. */
export interface SamplingParams {
  /** Any name: there is one model, and answers repeat the name. */
  model?: string | undefined;
  frequency_penalty?: number | null | undefined;
  presence_penalty?: number | null | undefined;
  /** From token ids to what is added to their logits. */
  logit_bias?: Record<string, number> | null | undefined;
  /** How many answers to make, one after the other. Default 1. */
  n?: number | null | undefined;
  seed?: number | null | undefined;
  stop?: string | readonly string[] | null | undefined;
  stream_options?: { include_usage?: boolean; include_obfuscation?: boolean } | null | undefined;
  temperature?: number | null | undefined;
  top_p?: number | null | undefined;
  /** Beyond OpenAI's: as `topK` of `generate()`. */
  top_k?: number | null | undefined;
  /** Beyond OpenAI's: as `minP` of `generate()`. */
  min_p?: number | null | undefined;
  /** Beyond OpenAI's: as `repeatPenalty` of `generate()`. */
  repeat_penalty?: number | null | undefined;
}

export interface FunctionTool {
  type: 'function';
  function: {
    name: string;
    description?: string;
    /** A JSON schema of the arguments. */
    parameters?: Record<string, unknown>;
    strict?: boolean | null;
  };
}

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { type: 'function'; function: { name: string } }
  | {
      type: 'allowed_tools';
      allowed_tools: { mode: 'auto' | 'required'; tools: readonly object[] };
    };

export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | { type: 'json_schema'; json_schema: { name: string; schema?: Record<string, unknown> } };

export interface FunctionCall {
  id: string;
  type: 'function';
  /** The arguments are JSON. */
  function: { name: string; arguments: string };
}

/** Of `type` "text", or "image_url" with the URL of a picture, which may be a data URL. */
export interface MessagePart {
  type: string;
  text?: string;
  refusal?: string;
  /** `detail`: "auto" or "high", which are the same. */
  image_url?: { url: string; detail?: string };
}

export interface MessageParam {
  role: 'developer' | 'system' | 'user' | 'assistant' | 'tool' | 'function';
  /** Text, or parts. */
  content?: string | readonly MessagePart[] | null;
  tool_calls?: readonly (FunctionCall | { type: 'custom' })[];
  tool_call_id?: string;
  name?: string;
  /** Beyond OpenAI's: what the assistant thought, for templates that say it again. */
  reasoning_content?: string | null;
}

export interface ChatCompletionParams extends SamplingParams {
  messages: readonly MessageParam[];
  logprobs?: boolean | null | undefined;
  /** How many alternatives of each token to tell, with `logprobs`. */
  top_logprobs?: number | null | undefined;
  /** Default: until the context is full. */
  max_completion_tokens?: number | null | undefined;
  /** The older name of max_completion_tokens. */
  max_tokens?: number | null | undefined;
  response_format?: ResponseFormat | undefined;
  tools?: readonly (FunctionTool | { type: 'custom' })[] | undefined;
  tool_choice?: ToolChoice | { type: 'custom' } | undefined;
  parallel_tool_calls?: boolean | undefined;
  /** "none" asks models that reason first, and can do without, for an answer. */
  reasoning_effort?: string | null | undefined;
  /** Beyond OpenAI's: further variables of the file's chat template. */
  chat_template_kwargs?: Record<string, unknown> | undefined;
}

export interface TextCompletionParams extends SamplingParams {
  prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[] | null;
  /** How many alternatives of each token to tell. */
  logprobs?: number | null | undefined;
  /** Default 16. */
  max_tokens?: number | null | undefined;
  /** Answer with the prompt in front. */
  echo?: boolean | null | undefined;
}

export interface EmbeddingParams {
  input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** Any name: there is one model, and answers repeat the name. */
  model?: string | undefined;
  /** "base64": the bytes of little-endian floats. Default "float". */
  encoding_format?: 'float' | 'base64' | undefined;
  /** Keep so many numbers, the first: for models that were trained for it. Default: all. */
  dimensions?: number | undefined;
  /** Beyond OpenAI's: of all positions the mean, the first or the last. Default: the file's. */
  pooling?: Pooling | undefined;
}

export interface NonStreaming {
  stream?: false | null | undefined;
}

export interface Streaming {
  stream: true;
}

/** Of {@link openAI}. */
export interface OpenAIOptions {
  /**
   * Recognise control tokens that messages spell, too: see `ChatTokensOptions` of the package.
   * Default false.
   */
  trustContent?: boolean | undefined;
}

export interface RequestOptions {
  /** Aborting rejects with the signal's reason. */
  signal?: AbortSignal | null | undefined;
}

export interface CompletionUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: {
    /** Up to the end of what the model thought first, the marks of thoughts among them. */
    reasoning_tokens: number;
    /** Tokens that were guessed ahead, as `lookup` of `generate()` does: drawn, or in vain. */
    accepted_prediction_tokens: number;
    rejected_prediction_tokens: number;
  };
}

export interface TopLogprob {
  token: string;
  bytes: number[];
  logprob: number;
}

export interface TokenLogprob extends TopLogprob {
  top_logprobs: TopLogprob[];
}

export interface ChoiceLogprobs {
  content: TokenLogprob[] | null;
  refusal: null;
}

export interface ChatCompletionMessage {
  role: 'assistant';
  content: string | null;
  refusal: null;
  /** What the model thought first, where it does. */
  reasoning_content?: string;
  tool_calls?: FunctionCall[];
}

export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

interface Answer {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
}

export interface ChatCompletion extends Answer {
  object: 'chat.completion';
  choices: {
    index: number;
    message: ChatCompletionMessage;
    finish_reason: ChatFinishReason;
    logprobs: ChoiceLogprobs | null;
  }[];
  usage: CompletionUsage;
}

export interface ChatCompletionDelta {
  role?: 'assistant';
  content?: string;
  reasoning_content?: string;
  tool_calls?: ToolCallDelta[];
}

/** Its name comes first, its arguments piece by piece. */
export type ToolCallDelta =
  (FunctionCall & { index: number }) | { index: number; function: { arguments: string } };

export interface ChatCompletionChunk extends Answer {
  object: 'chat.completion.chunk';
  choices: {
    index: number;
    delta: ChatCompletionDelta;
    finish_reason: ChatFinishReason | null;
    logprobs: ChoiceLogprobs | null;
  }[];
  /** Of the last chunk, which has no choices, where `stream_options` ask for it. */
  usage?: CompletionUsage;
}

export interface TextLogprobs {
  tokens: string[];
  token_logprobs: number[];
  top_logprobs: Record<string, number>[];
  text_offset: number[];
}

export interface TextCompletion extends Answer {
  object: 'text_completion';
  choices: {
    index: number;
    text: string;
    finish_reason: 'stop' | 'length';
    logprobs: TextLogprobs | null;
  }[];
  usage?: CompletionUsage;
}

export interface EmbeddingList<Vector = number[]> {
  object: 'list';
  data: { object: 'embedding'; index: number; embedding: Vector }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

// The types of the supported part of OpenAI's API. They are compatible with those of the official
// client. Source of names and fields: the reference of that API.

import type { SamplingName } from '../sampling-rules.ts';
import type { OnFull, Pooling, ToolChoice } from '../types.ts';

type OpenAISampling = 'frequency_penalty' | 'presence_penalty' | 'temperature' | 'top_p';

type Numbers<Names extends string> = Partial<Record<Names, number | null | undefined>>;

/** Parameters that are not in OpenAI's API: options of `generate()`, with names such as `top_k` for `topK`. */
export interface OwnSamplingParams extends Numbers<Exclude<SamplingName, OpenAISampling>> {
  /** `drySequenceBreakers` of `generate()`. */
  dry_sequence_breakers?: readonly string[] | null | undefined;
}

/** Parameters of both kinds of completion. If left out or null, `generate()`'s default applies. */
export interface SamplingParams extends OwnSamplingParams, Numbers<OpenAISampling> {
  /** Any name: there is only one model, and answers repeat the name. */
  model?: string | null | undefined;
  /** For each token id, a number that is added to its logit. */
  logit_bias?: Record<string, number> | null | undefined;
  /** How many answers to make, one after the other. Default 1. */
  n?: number | null | undefined;
  seed?: number | null | undefined;
  stop?: string | readonly string[] | null | undefined;
  stream_options?: { include_usage?: boolean; include_obfuscation?: boolean } | null | undefined;
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

export type ResponseFormat =
  | { type: 'text' }
  /** The schema is not in OpenAI's API, but other servers read it, too. */
  | {
      type: 'json_object';
      schema?: Record<string, unknown> | null;
      open_objects?: boolean | null;
    }
  | {
      type: 'json_schema';
      json_schema: {
        name: string;
        description?: string | null;
        schema?: Record<string, unknown> | null;
        strict?: boolean | null;
        /** Not in OpenAI's API: as `openObjects` of generate(). */
        open_objects?: boolean | null;
      };
    };

export interface FunctionCall {
  id: string;
  type: 'function';
  /** The arguments are JSON. */
  function: { name: string; arguments: string };
}

/**
 * A part of a message, with the `type` "text", "refusal", or "image_url" for the URL of a picture,
 * which may be a data URL.
 */
export interface MessagePart {
  type: string;
  text?: string;
  refusal?: string;
  /** `detail`: "auto" or "high", which mean the same. */
  image_url?: { url: string; detail?: string };
}

export interface MessageParam {
  role: 'developer' | 'system' | 'user' | 'assistant' | 'tool' | 'function';
  /** Text, or parts. */
  content?: string | readonly MessagePart[] | null;
  /** What an assistant said instead of a content. */
  refusal?: string | null;
  tool_calls?: readonly (FunctionCall | { type: 'custom' })[] | null;
  tool_call_id?: string | null;
  name?: string | null;
  /** Not in OpenAI's API: what the assistant thought, for templates that repeat thoughts. */
  reasoning_content?: string | null;
}

export interface ChatCompletionParams extends SamplingParams {
  messages: readonly MessageParam[];
  logprobs?: boolean | null | undefined;
  /** With `logprobs`: how many alternatives to return for each token. */
  top_logprobs?: number | null | undefined;
  /** Default: until the context is full. */
  max_completion_tokens?: number | null | undefined;
  /** The older name of `max_completion_tokens`. */
  max_tokens?: number | null | undefined;
  response_format?: ResponseFormat | null | undefined;
  tools?: readonly (FunctionTool | { type: 'custom' })[] | null | undefined;
  tool_choice?: ToolChoice | { type: 'custom' } | null | undefined;
  /** Whether an answer may call several functions. Default true, except with a named `tool_choice`. */
  parallel_tool_calls?: boolean | null | undefined;
  /** "none" asks a model to answer without thinking first, if its template supports that. */
  reasoning_effort?: string | null | undefined;
  /** Not in OpenAI's API: `maxThinkingTokens` of `chat()`. */
  max_thinking_tokens?: number | null | undefined;
  /** Not in OpenAI's API: `onFull` of `chat()`. */
  on_full?: OnFull | null | undefined;
  /** Not in OpenAI's API: further variables of the file's chat template. */
  chat_template_kwargs?: Record<string, unknown> | null | undefined;
}

export interface TextCompletionParams extends SamplingParams {
  prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[] | null;
  /** How many alternatives to return for each token. */
  logprobs?: number | null | undefined;
  /** Default 16. */
  max_tokens?: number | null | undefined;
  /** Begin the answer with the prompt. */
  echo?: boolean | null | undefined;
}

export interface EmbeddingParams {
  input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** Any name: there is only one model, and answers repeat the name. */
  model?: string | null | undefined;
  /** "base64": the bytes of little-endian floats. Default "float". */
  encoding_format?: 'float' | 'base64' | null | undefined;
  /** Keep only the first numbers of each vector, for models trained for it. Default: all. */
  dimensions?: number | null | undefined;
  /** Not in OpenAI's API: `pooling` of `embed()`. Default: the file's. */
  pooling?: Pooling | null | undefined;
}

export interface NonStreaming {
  stream?: false | null | undefined;
}

export interface Streaming {
  stream: true;
}

/** Options of {@link openAI}. */
export interface OpenAIOptions {
  /**
   * Recognize control tokens that are spelled out in messages, too: see `ChatTokensOptions` of the
   * package. Default false.
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
    /** Tokens up to the end of the model's thoughts, including marks of thoughts. */
    reasoning_tokens: number;
    /** Tokens that were guessed ahead (see `lookup` of `generate()`): right and wrong guesses. */
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
  /** What the model thought before it answered, if it did. */
  reasoning_content?: string;
  tool_calls?: FunctionCall[];
}

export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

interface Answer {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  /** The engine's version. */
  system_fingerprint: string;
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

/** A new part of a call. The first part has the name; the arguments arrive piece by piece. */
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
  /** If `stream_options` request it: in the last chunk, which has no choices; null in the others. */
  usage?: CompletionUsage | null;
}

export interface TextLogprobs {
  tokens: string[];
  /** null for the first token of a prompt that is echoed; OpenAI's types don't say so, either. */
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
  /** In a stream: as in `ChatCompletionChunk`; OpenAI's types leave null out here. */
  usage?: CompletionUsage;
}

export interface EmbeddingList<Vector = number[]> {
  object: 'list';
  data: { object: 'embedding'; index: number; embedding: Vector }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

/** As vLLM has it; all that follows `input` is for text models: see `classify()` of the model. */
export interface ClassifyParams {
  model?: string | undefined;
  input: string | readonly string[];
  labels?: readonly string[] | undefined;
  instruction?: string | undefined;
  examples?: readonly { text: string; label: string }[] | undefined;
  per_token?: boolean | undefined;
}

/** For each text its most probable label, and the probabilities in the order of the labels. */
export interface ClassifyAnswer {
  id: string;
  object: 'list';
  created: number;
  model: string;
  data: { index: number; label: string; probs: number[]; num_classes: number }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

export interface RerankParams {
  /** Any name: there is only one model, and answers repeat the name. */
  model?: string | undefined;
  query: string;
  documents: readonly (string | { text: string })[];
  /** Return only this many documents, the best ones. Default: all. */
  top_n?: number | null | undefined;
  /** Include the documents' texts in the answer. Default false. */
  return_documents?: boolean | null | undefined;
}

/** The results, best first. A larger score is better; the scale depends on the model. */
export interface RerankAnswer {
  object: 'list';
  model: string;
  results: { index: number; relevance_score: number; document?: { text: string } }[];
}

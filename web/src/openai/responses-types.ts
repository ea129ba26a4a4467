// The types of the supported part of OpenAI's Responses API: see types.ts.

import type { OwnSamplingParams, TokenLogprob } from './types.ts';

/**
 * A message, a thought, a call or a call's result. The default `type` is "message". The items of an
 * answer's `output` can be given unchanged.
 */
export interface ResponseInputItem {
  type?: string | null;
  role?: string;
  /** Text, or parts: of text, or "input_image" with the URL of a picture as `image_url`. */
  content?: string | readonly object[] | null;
  /** In a reasoning item: its parts, if it has no `content`. */
  summary?: readonly object[] | null;
  /** In a call and in its result: the id of the call. */
  call_id?: string | null;
  name?: string | null;
  arguments?: unknown;
  /** In a call's result: text or parts, like `content`. */
  output?: unknown;
}

export interface ResponseFunctionTool {
  type: 'function';
  name: string;
  description?: string | null;
  /** A JSON schema of the arguments. */
  parameters: Record<string, unknown> | null;
  strict: boolean | null;
}

export type ResponseToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { type: 'function'; name: string }
  | { type: 'allowed_tools'; mode: 'auto' | 'required'; tools: Record<string, unknown>[] };

export type ResponseTextFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      name: string;
      schema: Record<string, unknown>;
      strict?: boolean | null;
      description?: string;
    };

export interface ResponseParams extends OwnSamplingParams {
  input?: string | readonly ResponseInputItem[] | undefined;
  /** A system message before the input. */
  instructions?: string | null | undefined;
  /** Any name: there is only one model, and answers repeat the name. */
  model?: string | undefined;
  /** Default: until the context is full. */
  max_output_tokens?: number | null | undefined;
  temperature?: number | null | undefined;
  top_p?: number | null | undefined;
  /** How many alternatives to return for each token, if `include` requests logprobs. */
  top_logprobs?: number | null | undefined;
  /** "message.output_text.logprobs" requests the tokens' logprobs; other values have no effect. */
  include?: readonly string[] | null | undefined;
  text?: { format?: ResponseTextFormat; verbosity?: string | null } | undefined;
  tools?: readonly (ResponseFunctionTool | { type: string })[] | undefined;
  tool_choice?: ResponseToolChoice | { type: string } | undefined;
  parallel_tool_calls?: boolean | null | undefined;
  /** The effort "none" asks a model to answer without thinking, if its template supports that. */
  reasoning?: { effort?: string | null; summary?: string | null } | null | undefined;
  metadata?: Record<string, string> | null | undefined;
  stream_options?: { include_obfuscation?: boolean } | null | undefined;
  /** Only false is supported: answers are not stored. */
  background?: boolean | null | undefined;
  /** "auto" leaves out the oldest items of an input that does not fit the context. */
  truncation?: 'auto' | 'disabled' | null | undefined;
  /** This and the next are not in this API of OpenAI's: see {@link SamplingParams}. */
  seed?: number | null | undefined;
  max_thinking_tokens?: number | null | undefined;
  chat_template_kwargs?: Record<string, unknown> | undefined;
}

export type ResponseItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface ResponseOutputText {
  type: 'output_text';
  text: string;
  annotations: never[];
  logprobs: TokenLogprob[];
}

export interface ResponseReasoningText {
  type: 'reasoning_text';
  text: string;
}

export interface ResponseOutputMessage {
  id: string;
  type: 'message';
  role: 'assistant';
  status: ResponseItemStatus;
  content: ResponseOutputText[];
}

/** What the model thought before it answered. */
export interface ResponseReasoningItem {
  id: string;
  type: 'reasoning';
  status: ResponseItemStatus;
  summary: never[];
  content: ResponseReasoningText[];
}

export interface ResponseFunctionCall {
  id: string;
  type: 'function_call';
  status: ResponseItemStatus;
  call_id: string;
  name: string;
  /** JSON. */
  arguments: string;
}

export type ResponseOutputItem =
  ResponseOutputMessage | ResponseReasoningItem | ResponseFunctionCall;

export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** An answer. It repeats some of the {@link ResponseParams} of its request. */
export interface ModelResponse {
  id: string;
  object: 'response';
  /** Seconds since 1970. */
  created_at: number;
  status: ResponseItemStatus;
  error: null;
  incomplete_details: { reason: 'max_output_tokens' } | null;
  model: string;
  output: ResponseOutputItem[];
  /** The text of all messages of the output. */
  output_text: string;
  instructions: string | null;
  max_output_tokens: number | null;
  metadata: Record<string, string> | null;
  parallel_tool_calls: boolean;
  previous_response_id: null;
  temperature: number | null;
  top_p: number | null;
  text: { format: ResponseTextFormat };
  tools: ResponseFunctionTool[];
  tool_choice: ResponseToolChoice;
  truncation: 'auto' | 'disabled';
  /** Present when the answer is done. */
  usage?: ResponseUsage;
}

/** The output item that an event belongs to. */
export interface ResponseItemPlace {
  item_id: string;
  output_index: number;
}

export interface ResponsePartPlace extends ResponseItemPlace {
  content_index: number;
}

export type ResponsePart = ResponseOutputText | ResponseReasoningText;

/** An event of a stream, without its sequence number. */
export type ResponseEvent =
  | {
      type:
        'response.created' | 'response.in_progress' | 'response.completed' | 'response.incomplete';
      response: ModelResponse;
    }
  | {
      type: 'response.output_item.added' | 'response.output_item.done';
      output_index: number;
      item: ResponseOutputItem;
    }
  | ({ type: 'response.content_part.added' | 'response.content_part.done' } & ResponsePartPlace & {
        part: ResponsePart;
      })
  | ({
      type: 'response.output_text.delta';
      delta: string;
      logprobs: TokenLogprob[];
    } & ResponsePartPlace)
  | ({
      type: 'response.output_text.done';
      text: string;
      logprobs: TokenLogprob[];
    } & ResponsePartPlace)
  | ({ type: 'response.reasoning_text.delta'; delta: string } & ResponsePartPlace)
  | ({ type: 'response.reasoning_text.done'; text: string } & ResponsePartPlace)
  | ({ type: 'response.function_call_arguments.delta'; delta: string } & ResponseItemPlace)
  | ({
      type: 'response.function_call_arguments.done';
      name: string;
      arguments: string;
    } & ResponseItemPlace);

/**
 * An event of a stream, numbered in order. The first two events and the last have the whole
 * response; the others are about one item.
 */
export type ResponseStreamEvent = ResponseEvent & { sequence_number: number };

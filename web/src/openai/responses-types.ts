// The shapes of OpenAI's API of responses, as far as they are answered here: see types.ts.

import type { TokenLogprob } from './types.ts';

/**
 * What was said, thought, called or answered so far. Of `type` "message" where it has none; the
 * items of an answer's `output` can be given as they are.
 */
export interface ResponseInputItem {
  type?: string | null;
  role?: string;
  /** Text, or parts that have `text`. */
  content?: string | readonly object[] | null;
  /** Of a reasoning item: parts. */
  summary?: readonly object[] | null;
  /** Of a call, and of its output. */
  call_id?: string | null;
  name?: string | null;
  arguments?: unknown;
  /** As `content`. */
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

export interface ResponseParams {
  input?: string | readonly ResponseInputItem[] | undefined;
  /** Said by the system, before the input. */
  instructions?: string | null | undefined;
  /** Any name: there is one model, and answers repeat the name. */
  model?: string | undefined;
  /** Default: until the context is full. */
  max_output_tokens?: number | null | undefined;
  temperature?: number | null | undefined;
  top_p?: number | null | undefined;
  /** How many alternatives of each token to tell. */
  top_logprobs?: number | null | undefined;
  /** "message.output_text.logprobs" tells how probable the tokens were; others change nothing. */
  include?: readonly string[] | null | undefined;
  text?: { format?: ResponseTextFormat; verbosity?: string | null } | undefined;
  tools?: readonly (ResponseFunctionTool | { type: string })[] | undefined;
  tool_choice?: ResponseToolChoice | { type: string } | undefined;
  parallel_tool_calls?: boolean | null | undefined;
  /** The effort "none" asks models that reason first, and can do without, for an answer. */
  reasoning?: { effort?: string | null; summary?: string | null } | null | undefined;
  metadata?: Record<string, string> | null | undefined;
  stream_options?: { include_obfuscation?: boolean } | null | undefined;
  /** Only false: an answer is made while somebody waits for it. */
  background?: boolean | null | undefined;
  /** Only "disabled": nothing is left out of a long input. */
  truncation?: 'auto' | 'disabled' | null | undefined;
  /** Beyond OpenAI's: as in {@link SamplingParams}. */
  seed?: number | null | undefined;
  top_k?: number | null | undefined;
  min_p?: number | null | undefined;
  repeat_penalty?: number | null | undefined;
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

/** What the model thought first. */
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

/** An answer. Named as its API is; `ResponseParams` repeat what it was asked for. */
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
  truncation: 'disabled';
  /** When it is done. */
  usage?: ResponseUsage;
}

/** Where in the output an event belongs. */
export interface ResponseItemPlace {
  item_id: string;
  output_index: number;
}

export interface ResponsePartPlace extends ResponseItemPlace {
  content_index: number;
}

export type ResponsePart = ResponseOutputText | ResponseReasoningText;

/** One of them, without its number. */
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

/** What a stream of a response says, in order; all but the first two and the last tell of an item. */
export type ResponseStreamEvent = ResponseEvent & { sequence_number: number };

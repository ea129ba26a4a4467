// Builds the output of a response, item after item, while the answer is generated.
import { randomName } from './answers.ts';
import type { AnswerEvent } from './chat-answers.ts';
import type {
  ResponseOutputItem,
  ResponseOutputText,
  ResponseReasoningText,
  ResponseEvent,
} from './responses-types.ts';
import type { TokenLogprob, ToolCallDelta } from './types.ts';

type Kind = ResponseOutputItem['type'];

interface OpenItem {
  kind: Kind;
  id: string;
  /** The text so far: of the answer, the thoughts or the arguments. */
  text: string;
  logprobs: TokenLogprob[];
  callId: string;
  name: string;
}

const prefixes: Record<Kind, string> = { message: 'msg', reasoning: 'rs', function_call: 'fc' };

export class ResponseOutput {
  readonly done: ResponseOutputItem[] = [];
  #open: OpenItem | undefined;

  /** Yields the events for the next part of the answer. */
  *add({ text, reasoning, calls, logprobs }: AnswerEvent): Generator<ResponseEvent> {
    if (reasoning !== '') yield* this.#grow('reasoning', reasoning, []);
    if (text !== '' || (logprobs.length > 0 && this.#open?.kind === 'message')) {
      yield* this.#grow('message', text, logprobs);
    }
    for (const call of calls) yield* this.#growCall(call);
  }

  /** Yields the events for the end of the answer. An empty answer becomes an empty message. */
  *end(status: 'completed' | 'incomplete'): Generator<ResponseEvent> {
    if (!this.#open && this.done.length === 0) yield* this.#begin('message');
    yield* this.#close(status);
  }

  *#grow(
    kind: 'message' | 'reasoning',
    delta: string,
    logprobs: TokenLogprob[],
  ): Generator<ResponseEvent> {
    if (this.#open?.kind !== kind) yield* this.#begin(kind);
    const item = this.#item();
    item.text += delta;
    item.logprobs.push(...logprobs);
    const place = { ...this.#place(), content_index: 0 };
    if (kind === 'reasoning') yield { type: 'response.reasoning_text.delta', ...place, delta };
    else yield { type: 'response.output_text.delta', ...place, delta, logprobs };
  }

  *#growCall(call: ToolCallDelta): Generator<ResponseEvent> {
    if ('id' in call) yield* this.#begin('function_call', call.id, call.function.name);
    const delta = call.function.arguments;
    this.#item().text += delta;
    if (delta === '') return;
    yield { type: 'response.function_call_arguments.delta', ...this.#place(), delta };
  }

  *#begin(kind: Kind, callId = '', name = ''): Generator<ResponseEvent> {
    yield* this.#close('completed');
    const id = `${prefixes[kind]}_${randomName(24)}`;
    this.#open = { kind, id, text: '', logprobs: [], callId, name };
    const item = itemOf(this.#open, 'in_progress');
    yield { type: 'response.output_item.added', output_index: this.done.length, item };
    if (kind === 'function_call') return;
    const part = partOf(this.#open);
    yield { type: 'response.content_part.added', ...this.#place(), content_index: 0, part };
  }

  *#close(status: 'completed' | 'incomplete'): Generator<ResponseEvent> {
    if (!this.#open) return;
    const open = this.#open;
    const { kind, text, logprobs, name } = open;
    const place = this.#place();
    const part = { ...place, content_index: 0 };
    if (kind === 'function_call') {
      yield { type: 'response.function_call_arguments.done', ...place, name, arguments: text };
    } else {
      if (kind === 'reasoning') yield { type: 'response.reasoning_text.done', ...part, text };
      else yield { type: 'response.output_text.done', ...part, text, logprobs };
      yield { type: 'response.content_part.done', ...part, part: partOf(open) };
    }
    const item = itemOf(open, status);
    yield { type: 'response.output_item.done', output_index: this.done.length, item };
    this.done.push(item);
    this.#open = undefined;
  }

  #item(): OpenItem {
    if (!this.#open) throw new Error('no item of the output is open');
    return this.#open;
  }

  #place() {
    return { item_id: this.#item().id, output_index: this.done.length };
  }
}

function itemOf(
  open: OpenItem,
  status: 'in_progress' | 'completed' | 'incomplete',
): ResponseOutputItem {
  const { kind, id, text, callId, name } = open;
  const isBegun = status !== 'in_progress';
  switch (kind) {
    case 'message':
      return { id, type: kind, role: 'assistant', status, content: isBegun ? [textOf(open)] : [] };
    case 'reasoning':
      return { id, type: kind, status, summary: [], content: isBegun ? [thoughtOf(open)] : [] };
    case 'function_call':
      return { id, type: kind, status, call_id: callId, name, arguments: text };
  }
}

function partOf(open: OpenItem): ResponseOutputText | ResponseReasoningText {
  return open.kind === 'reasoning' ? thoughtOf(open) : textOf(open);
}

function textOf({ text, logprobs }: OpenItem): ResponseOutputText {
  return { type: 'output_text', text, annotations: [], logprobs: [...logprobs] };
}

function thoughtOf({ text }: OpenItem): ResponseReasoningText {
  return { type: 'reasoning_text', text };
}

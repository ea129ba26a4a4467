// Converts answers to the parts that the AI SDK expects: each begins, grows and ends.
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { usageOf } from '../openai/answers.ts';
import type { CountedResult } from '../openai/answers.ts';
import { isJson } from '../openai/chat-answers.ts';
import type { AnswerEvent } from '../openai/chat-answers.ts';
import type { ChatFinishReason, ToolCallDelta } from '../openai/types.ts';

interface OpenPart {
  kind: 'text' | 'reasoning' | 'tool-input';
  id: string;
  /** The part's text so far. */
  text: string;
  toolName: string;
}

export class AnswerParts {
  /** The parts that are complete. */
  readonly content: LanguageModelV3Content[] = [];
  #open: OpenPart | undefined;

  *add({ text, reasoning, calls }: AnswerEvent): Generator<LanguageModelV3StreamPart> {
    if (reasoning !== '') yield* this.#grow('reasoning', reasoning);
    if (text !== '') yield* this.#grow('text', text);
    for (const call of calls) yield* this.#growCall(call);
  }

  *end(): Generator<LanguageModelV3StreamPart> {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    const { kind, id, text, toolName } = open;
    yield { type: `${kind}-end`, id };
    if (kind === 'tool-input') {
      if (!isJson(text)) return; // it was cut: the SDK cannot call it
      const call = { type: 'tool-call', toolCallId: id, toolName, input: text } as const;
      this.content.push(call);
      yield call;
    } else {
      this.content.push({ type: kind, text });
    }
  }

  *#grow(kind: 'text' | 'reasoning', delta: string): Generator<LanguageModelV3StreamPart> {
    if (this.#open?.kind !== kind) {
      yield* this.end();
      this.#open = { kind, id: String(this.content.length), text: '', toolName: '' };
      yield { type: `${kind}-start`, id: this.#open.id };
    }
    const { id } = this.#open;
    this.#open.text += delta;
    yield { type: `${kind}-delta`, id, delta };
  }

  *#growCall(call: ToolCallDelta): Generator<LanguageModelV3StreamPart> {
    if ('id' in call) {
      yield* this.end();
      const { id } = call;
      const toolName = call.function.name;
      this.#open = { kind: 'tool-input', id, text: '', toolName };
      yield { type: 'tool-input-start', id, toolName };
    }
    const delta = call.function.arguments;
    if (!this.#open || delta === '') return;
    this.#open.text += delta;
    yield { type: 'tool-input-delta', id: this.#open.id, delta };
  }
}

export function finishReasonOf(raw: ChatFinishReason): LanguageModelV3FinishReason {
  return { unified: raw === 'tool_calls' ? 'tool-calls' : raw, raw };
}

export function tokensOf(results: readonly CountedResult[]): LanguageModelV3Usage {
  const usage = usageOf(results);
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const { cached_tokens: cached } = usage.prompt_tokens_details;
  const { reasoning_tokens: reasoning } = usage.completion_tokens_details;
  return {
    inputTokens: {
      ...{ total: input, noCache: input - cached, cacheRead: cached, cacheWrite: undefined },
    },
    outputTokens: { total: output, text: output - reasoning, reasoning },
  };
}

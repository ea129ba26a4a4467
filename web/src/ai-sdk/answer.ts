// Converts answers to the parts that the AI SDK expects: each begins, grows and ends.
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import type {
  ChatCompletionDelta,
  ChatFinishReason,
  CompletionUsage,
  ToolCallDelta,
} from '../openai/types.ts';

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

  *add(delta: ChatCompletionDelta): Generator<LanguageModelV3StreamPart> {
    const { content = '', reasoning_content: reasoning = '', tool_calls: calls = [] } = delta;
    if (reasoning !== '') yield* this.#grow('reasoning', reasoning);
    if (content !== '') yield* this.#grow('text', content);
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

/** `usage`: undefined if the answer failed. */
export function tokensOf(usage: CompletionUsage | undefined): LanguageModelV3Usage {
  const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage ?? {};
  const cached = usage?.prompt_tokens_details.cached_tokens ?? 0;
  const reasoning = usage?.completion_tokens_details.reasoning_tokens ?? 0;
  return {
    inputTokens: {
      ...{ total: input, noCache: input - cached, cacheRead: cached, cacheWrite: undefined },
    },
    outputTokens: { total: output, text: output - reasoning, reasoning },
  };
}

/** Whether the arguments of a call are whole. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// Helpers that all kinds of answers share.
import type { GenerationResult, ModelInfo } from '../types.ts';
import type { CompletionUsage, RequestOptions, SamplingParams } from './types.ts';

/** An answer that arrives in parts. Leaving the loop or aborting the controller ends the answer. */
export class AnswerStream<Chunk> implements AsyncIterable<Chunk> {
  readonly controller: AbortController;
  readonly #chunks: AsyncGenerator<Chunk, void, void>;

  /** @internal */
  constructor(controller: AbortController, chunks: AsyncGenerator<Chunk, void, void>) {
    this.controller = controller;
    this.#chunks = chunks;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Chunk, void, void> {
    return this.#chunks;
  }
}

/** Returns a controller that the caller's signal also aborts. */
export function controllerOf({ signal }: RequestOptions): AbortController {
  const controller = new AbortController();
  const abort = () => {
    controller.abort(signal?.reason);
  };
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return controller;
}

export function answerHead(kind: string, params: SamplingParams, info: ModelInfo) {
  return {
    id: `${kind}-${randomName(24)}`,
    created: Math.floor(Date.now() / 1000),
    model: params.model ?? info.name,
  };
}

/** Returns random letters and digits. Mistral's template requires call ids of nine of them. */
export function randomName(length: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join('');
}

/** A result, and how many of its tokens were thoughts, if they were counted. */
export type CountedResult = GenerationResult & { reasoningTokens?: number };

/** Returns the usage of several choices for one prompt. The prompt is counted once. */
export function usageOf(results: readonly CountedResult[]): CompletionUsage {
  const promptTokens = results[0]?.usage.promptTokens ?? 0;
  const total = (count: (result: CountedResult) => number) =>
    results.reduce((sum, result) => sum + count(result), 0);
  const completionTokens = total(({ usage }) => usage.completionTokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: results[0]?.usage.cachedTokens ?? 0 },
    completion_tokens_details: {
      reasoning_tokens: total(({ reasoningTokens = 0 }) => reasoningTokens),
      accepted_prediction_tokens: total(({ timings }) => timings.keptTokens),
      rejected_prediction_tokens: total(
        ({ timings }) => timings.guessedTokens - timings.keptTokens,
      ),
    },
  };
}

/** A full context is reported as `length`, like `maxTokens`: both cut the answer. */
export function finishReasonOf({ finishReason }: GenerationResult): 'stop' | 'length' {
  return finishReason === 'length' || finishReason === 'context' ? 'length' : 'stop';
}

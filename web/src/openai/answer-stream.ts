import { KingletError } from '../errors.ts';
import type { KingletErrorCode } from '../errors.ts';

/** An answer that arrives in parts. Leaving the loop or aborting the controller ends the answer. */
export class AnswerStream<Chunk> implements AsyncIterable<Chunk> {
  readonly controller: AbortController;
  readonly #chunks: AsyncGenerator<Chunk, void, void>;

  /** @internal `events`: server-sent events; each text has whole ones. `onEnd`: called after them. */
  constructor(controller: AbortController, events: ReadableStream<string>, onEnd: () => void) {
    this.controller = controller;
    this.#chunks = chunksOf<Chunk>(events, onEnd);
  }

  [Symbol.asyncIterator](): AsyncGenerator<Chunk, void, void> {
    return this.#chunks;
  }
}

/** The error that the engine describes as OpenAI's API does. */
export interface ErrorBody {
  error: { message: string; code: string | null };
}

export function errorOf({ error: { message, code } }: ErrorBody): KingletError {
  const known = code === 'context_length_exceeded' ? 'prompt_too_long' : code;
  return new KingletError((known ?? 'invalid_argument') as KingletErrorCode, message);
}

async function* chunksOf<Chunk>(
  events: ReadableStream<string>,
  onEnd: () => void,
): AsyncGenerator<Chunk, void, void> {
  const reader = events.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const data of dataOf(value)) {
        if (data === '[DONE]') return;
        const chunk = JSON.parse(data) as Chunk | ErrorBody;
        if (isError(chunk)) throw errorOf(chunk);
        yield chunk;
      }
    }
  } finally {
    onEnd();
    await reader.cancel();
  }
}

function dataOf(events: string): string[] {
  const mark = 'data: ';
  return events
    .split('\n')
    .filter((line) => line.startsWith(mark))
    .map((line) => line.slice(mark.length));
}

function isError(chunk: unknown): chunk is ErrorBody {
  return typeof chunk === 'object' && chunk !== null && 'error' in chunk;
}

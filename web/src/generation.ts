import { KingletError } from './errors.ts';
import type { GenerationResult, Piece } from './types.ts';

/**
 * A running generation: iterate over its pieces, or await `result`, or both.
 *
 * The engine does not wait for a slow reader: pieces (at most `maxTokens`) are queued until they are
 * read. So a reader that waits for another generation of the same model cannot block it. Leaving the
 * loop early cancels the generation, like {@link cancel}. The pieces can be read once: a second loop
 * rejects with `invalid_argument`.
 */
export class Generation<
  Result extends GenerationResult = GenerationResult,
> implements AsyncIterable<Piece> {
  /** Settles when the generation ends; rejects with the same errors as the iteration. */
  readonly result: Promise<Result>;
  /**
   * Like `result`, but if a signal ended the generation, it resolves with the answer so far, like
   * {@link cancel}. Errors reject it, too.
   */
  readonly partial: Promise<Result>;

  readonly #pieces: Piece[] = [];
  readonly #cancel: () => void;
  #ended = false;
  #error: { thrown: unknown } | undefined;
  #wake: (() => void) | undefined;
  /** Whether somebody reads the pieces, or has read all of them. */
  #isRead = false;

  /** @internal `start` begins the work and returns the function that cancels it. */
  constructor(start: (sink: GenerationSink<Result>) => () => void) {
    const [result, partial] = [deferred<Result>(), deferred<Result>()];
    this.result = result.promise;
    this.partial = partial.promise;
    // Someone who reads the pieces gets the error there, and may never look at these promises.
    for (const { promise } of [result, partial]) promise.catch(() => undefined);
    const stop = (thrown: unknown) => {
      if (this.#ended) return;
      this.#ended = true;
      this.#pieces.length = 0;
      this.#error = { thrown };
      result.reject(thrown);
      this.#wake?.();
    };
    this.#cancel = start({
      push: (piece) => {
        if (this.#ended) return;
        this.#pieces.push(piece);
        this.#wake?.();
      },
      end: (found) => {
        this.#ended = true;
        result.resolve(found);
        partial.resolve(found);
        this.#wake?.();
      },
      abort: stop,
      fail: (thrown) => {
        stop(thrown);
        partial.reject(thrown);
      },
    });
  }

  /**
   * Ends the generation at the next token, or at the next batch of the prompt, and resolves with the
   * answer so far: its `finishReason` is `cancelled`. The loop over the pieces ends after the last
   * piece, and `result` resolves, too. Does nothing if the generation has ended.
   */
  cancel(): Promise<Result> {
    if (!this.#ended) this.#cancel();
    return this.partial;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece, void, void> {
    if (this.#isRead) {
      const message =
        'the pieces of an answer can be read once: keep those that you read, or await its result';
      throw new KingletError('invalid_argument', message);
    }
    this.#isRead = true;
    let isWhole = false;
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece) {
          yield piece;
        } else if (this.#error) {
          throw this.#error.thrown;
        } else if (this.#ended) {
          isWhole = true;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.#isRead = isWhole; // after a loop that was left early, another may read the rest
      if (!this.#ended) this.#cancel();
    }
  }
}

// `(await model.chat(…)).text` lacks `.result`: TypeScript refuses it, and at run time, this does.
for (const name of ['text', 'message', 'reasoning', 'toolCalls', 'finishReason', 'usage']) {
  Object.defineProperty(Generation.prototype, name, {
    get() {
      const message = `a generation has no ${name}: await its result, as in (await model.chat(…).result).${name}`;
      throw new KingletError('invalid_argument', message);
    },
  });
}

/** Receives what a generation produces. */
export interface GenerationSink<Result = GenerationResult> {
  push(piece: Piece): void;
  end(result: Result): void;
  /** A signal ended the generation; end() or fail() follows, with the answer so far. */
  abort(reason: unknown): void;
  fail(thrown: unknown): void;
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (thrown: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

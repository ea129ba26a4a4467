import type { GenerationResult, Piece } from './types.ts';

/**
 * A running generation: iterate over its pieces, or await `result`, or both.
 *
 * The engine does not wait for a slow reader: pieces are kept in order until they are read, at most
 * `maxTokens` of them, so that a reader who waits for another generation of the same model cannot
 * block it. Leaving the loop early cancels the generation, as {@link cancel} does.
 */
export class Generation implements AsyncIterable<Piece> {
  /** Settles when the generation ends; rejects as the iteration would. */
  readonly result: Promise<GenerationResult>;
  /**
   * As `result`, but where a signal ended the generation it resolves with what there is, as
   * {@link cancel} does. Errors reject it, too.
   */
  readonly partial: Promise<GenerationResult>;

  readonly #pieces: Piece[] = [];
  readonly #cancel: () => void;
  #ended = false;
  #error: { thrown: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @internal `start` begins the work and gives the function that cancels it. */
  constructor(start: (sink: GenerationSink) => () => void) {
    const [result, partial] = [deferred<GenerationResult>(), deferred<GenerationResult>()];
    this.result = result.promise;
    this.partial = partial.promise;
    // A reader of the pieces hears of the error there; these may go unread.
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
   * Ends the generation at the next token, in the prompt at the next batch, and resolves with what
   * there is: `finishReason` is `cancelled`. The loop over the pieces ends after the last of them,
   * and `result` resolves, too. One that has ended stays as it is.
   */
  cancel(): Promise<GenerationResult> {
    if (!this.#ended) this.#cancel();
    return this.partial;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece, void, void> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece) {
          yield piece;
        } else if (this.#error) {
          throw this.#error.thrown;
        } else if (this.#ended) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#ended) this.#cancel();
    }
  }
}

/** Where a generation's producer puts what it makes. */
export interface GenerationSink {
  push(piece: Piece): void;
  end(result: GenerationResult): void;
  /** A signal ended it; end() or fail() follows, and tells what there is. */
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

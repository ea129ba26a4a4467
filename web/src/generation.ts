import type { GenerationResult, Piece } from './types.ts';

/**
 * A running generation: iterate over its pieces, or await `result`, or both.
 *
 * The engine does not wait for a slow reader: pieces are kept in order until they are read, at most
 * `maxTokens` of them, so that a reader who waits for another generation of the same model cannot
 * block it. Leaving the loop early cancels the generation.
 */
export class Generation implements AsyncIterable<Piece> {
  /** Settles when the generation ends; rejects as the iteration would. */
  readonly result: Promise<GenerationResult>;

  readonly #pieces: Piece[] = [];
  readonly #cancel: () => void;
  #ended = false;
  #error: { thrown: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @internal `start` begins the work and gives the function that cancels it. */
  constructor(start: (sink: GenerationSink) => () => void) {
    const { promise, resolve, reject } = deferred<GenerationResult>();
    this.result = promise;
    // A reader of the pieces hears of the error there; `result` may go unread.
    promise.catch(() => undefined);
    this.#cancel = start({
      push: (piece) => {
        this.#pieces.push(piece);
        this.#wake?.();
      },
      end: (result) => {
        this.#ended = true;
        resolve(result);
        this.#wake?.();
      },
      fail: (thrown) => {
        this.#ended = true;
        this.#pieces.length = 0;
        this.#error = { thrown };
        reject(thrown);
        this.#wake?.();
      },
    });
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

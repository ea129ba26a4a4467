/** How long a batch may take: the worker receives no messages until it ends. */
const batchMs = 150;

const firstBatch = 16;
/** With smaller batches, the weights would be read too often. */
const smallestBatch = 8;

/** Chooses how many tokens to compute together, so that the worker soon notices a cancellation. */
export class BatchPace {
  size: number;
  readonly #largest: number;

  constructor(largest: number) {
    this.#largest = largest;
    this.size = Math.min(firstBatch, largest);
  }

  /** Records the tokens and the time of the last batch. */
  took(nTokens: number, ms: number): void {
    const wanted = ms > 0 ? Math.floor((nTokens * batchMs) / ms) : this.#largest;
    this.size = Math.min(this.#largest, Math.max(smallestBatch, wanted));
  }
}

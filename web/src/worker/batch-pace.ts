/** How long a batch may take: until it ends, the worker hears nothing. */
const batchMs = 150;

const firstBatch = 16;
/** Below, weights would be read more often than is worth it. */
const smallestBatch = 8;

/** The number of tokens to compute together, so that a wish to stop is soon heard. */
export class BatchPace {
  size: number;
  readonly #largest: number;

  constructor(largest: number) {
    this.#largest = largest;
    this.size = Math.min(firstBatch, largest);
  }

  /** Tells what the last batch took. */
  took(nTokens: number, ms: number): void {
    const wanted = ms > 0 ? Math.floor((nTokens * batchMs) / ms) : this.#largest;
    this.size = Math.min(this.#largest, Math.max(smallestBatch, wanted));
  }
}

const windowMs = 4000;
const leastMs = 300;

/** Measures how fast a number grew in the last seconds. */
export class Pace {
  readonly #samples: { at: number; value: number }[] = [];

  /** Returns the growth per second; undefined until it is known. `at` is in milliseconds. */
  add(at: number, value: number): number | undefined {
    this.#samples.push({ at, value });
    while (at - (this.#samples[1]?.at ?? at) > windowMs) this.#samples.shift();
    const first = this.#samples[0];
    if (!first || at - first.at < leastMs) return undefined;
    return (1000 * (value - first.value)) / (at - first.at);
  }
}

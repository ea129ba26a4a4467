// Which vectors point most nearly the way that a query's does.

/** Vectors of length 1, one after the other. */
export interface Vectors {
  values: Float32Array;
  /** Numbers of each. */
  size: number;
}

export interface Ranked {
  /** Of the set of vectors, and of the vector in it. */
  set: number;
  index: number;
  /** The cosine of the angle between the two, -1 to 1. */
  score: number;
}

/** The `limit` best of all sets, best first; of equal ones those that come first. */
export function rank(query: Float32Array, sets: readonly Vectors[], limit: number): Ranked[] {
  const best: Ranked[] = [];
  for (const [set, { values, size }] of sets.entries()) {
    if (size !== query.length)
      throw new RangeError(
        `a query of ${String(query.length)} numbers among vectors of ${String(size)}`,
      );
    for (let index = 0; (index + 1) * size <= values.length; ++index) {
      const score = product(query, values, index * size);
      if (best.length === limit && score <= (best.at(-1)?.score ?? Infinity)) continue;
      const place = best.findIndex((other) => other.score < score);
      best.splice(place < 0 ? best.length : place, 0, { set, index, score });
      if (best.length > limit) best.pop();
    }
  }
  return best;
}

/** Of `a` and as many numbers of `b` from `at` on. */
export function product(a: Float32Array, b: Float32Array, at = 0): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += (a[i] ?? 0) * (b[at + i] ?? 0);
  return sum;
}

/** The index of the vector nearest to the query; undefined without any. */
export function nearest(query: Float32Array, vectors: readonly Float32Array[]): number | undefined {
  let best: number | undefined;
  let bestScore = -Infinity;
  for (const [i, vector] of vectors.entries()) {
    const score = product(query, vector);
    if (score <= bestScore) continue;
    best = i;
    bestScore = score;
  }
  return best;
}

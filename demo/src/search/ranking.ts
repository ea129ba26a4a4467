// Finds the vectors whose direction is nearest to that of a query's vector.

/** Vectors of length 1, one after the other. */
export interface Vectors {
  values: Float32Array;
  /** The length of each vector. */
  size: number;
}

export interface Ranked {
  /** The index of the set, and of the vector in that set. */
  set: number;
  index: number;
  /** The cosine of the angle between vector and query, -1 to 1. */
  score: number;
}

/** The `limit` best vectors of all sets, best first; among equal scores, the earlier vectors. */
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

/** The dot product of `a` and as many numbers of `b`, from `at` on. */
export function product(a: Float32Array, b: Float32Array, at = 0): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += (a[i] ?? 0) * (b[at + i] ?? 0);
  return sum;
}

/** The index of the vector nearest to the query; undefined without vectors. */
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

import { KingletError } from './errors.ts';
import { checkedObject } from './options.ts';

/**
 * Returns the cosine of two vectors: how similar their directions are, from -1 to 1. For
 * embeddings, this is how similar the texts' meanings are. Returns 0 if a vector has length 0.
 */
export function similarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  for (const vector of [a, b]) checkedObject('a vector', vector);
  if (a.length !== b.length) {
    throw new KingletError(
      'invalid_argument',
      `vectors of ${String(a.length)} and ${String(b.length)} numbers cannot be compared`,
    );
  }
  let [dot, ofA, ofB] = [0, 0, 0];
  for (let i = 0; i < a.length; ++i) {
    const [x = 0, y = 0] = [a[i], b[i]];
    dot += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  const lengths = Math.sqrt(ofA) * Math.sqrt(ofB);
  return lengths > 0 ? dot / lengths : 0;
}

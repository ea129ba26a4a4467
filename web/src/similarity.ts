import { KingletError } from './errors.ts';

/**
 * How alike the directions of two vectors are, from -1 to 1 (their cosine): of embeddings, how alike
 * the meanings of the texts. 0 where one has no length.
 */
export function similarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
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

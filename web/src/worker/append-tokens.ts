import type { EngineSession } from '#engine';
import { KingletError } from '../errors.ts';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { yieldToMessages } from './yield.ts';

/** A request that may be cancelled. */
export interface Work {
  id: number;
  isWanted(): boolean;
}

/**
 * Appends tokens to a session in batches, between which messages are heard. `output` 1: `onOutput`
 * gets the logits behind the last token; 2: the final states of every batch, `nRows` of them. When
 * it fails or is no longer wanted, the session is as it was; it then rejects.
 */
export async function appendTokens(
  session: EngineSession,
  tokens: Int32Array,
  output: 1 | 2,
  work: Work,
  onOutput: (numbers: Float32Array, nRows: number) => void,
): Promise<void> {
  const nBefore = session.nPositions();
  const pace = new BatchPace(session.nBatch());
  try {
    let done = 0;
    do {
      if (!work.isWanted()) throw new KingletError('cancelled', 'the work was cancelled');
      const batch = tokens.subarray(done, done + pace.size);
      done += batch.length;
      const isLast = done === tokens.length;
      const startedAt = performance.now();
      const numbers = unwrap(session.append(batch, output === 1 && !isLast ? 0 : output, work.id));
      pace.took(batch.length, performance.now() - startedAt);
      if (output === 2 || isLast) onOutput(numbers, batch.length);
      if (!isLast) await yieldToMessages();
    } while (done < tokens.length);
  } catch (error) {
    unwrap(session.truncate(nBefore));
    throw error;
  }
}

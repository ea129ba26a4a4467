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
  const pace = new BatchPace(session.nBatch());
  try {
    let nLeft = unwrap(session.begin(tokens, output, work.id));
    while (nLeft > 0) {
      if (!work.isWanted()) throw new KingletError('cancelled', 'the work was cancelled');
      const startedAt = performance.now();
      const batch = unwrap(session.advance(pace.size));
      const nComputed = nLeft - batch.nLeft;
      pace.took(nComputed, performance.now() - startedAt);
      if (batch.numbers.length > 0) onOutput(batch.numbers, nComputed);
      nLeft = batch.nLeft;
      if (nLeft > 0) await yieldToMessages();
    }
  } finally {
    unwrap(session.cancel());
  }
}

import type { EngineSession } from '#engine';
import { BatchPace } from './batch-pace.ts';
import { unwrap } from './engine-error.ts';
import { checkWanted } from './work.ts';
import type { Work } from './work.ts';
import { yieldToMessages } from './yield.ts';

/**
 * Appends tokens to a session in batches, and returns the logits after the last token. Between
 * batches it lets messages in. If it fails or is cancelled, it rejects and leaves the session
 * unchanged.
 */
export async function appendTokens(
  session: EngineSession,
  tokens: Int32Array,
  work: Work,
): Promise<Float32Array> {
  const pace = new BatchPace(session.nBatch());
  try {
    let nLeft = unwrap(session.begin(tokens, work.id));
    for (;;) {
      checkWanted(work);
      const startedAt = performance.now();
      const batch = unwrap(session.advance(pace.size));
      if (batch.nLeft === 0) return batch.logits;
      pace.took(nLeft - batch.nLeft, performance.now() - startedAt);
      nLeft = batch.nLeft;
      await yieldToMessages();
    }
  } finally {
    unwrap(session.cancel());
  }
}

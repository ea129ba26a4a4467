// Speed of each kind of KV cache, through the package.
import { timeGeneration } from './measure.js';

const decoded = 16;

/**
 * Tokens per second of reading all of a context but 16 tokens, and of these; the best of all
 * repeats. The kinds take turns, so that a machine whose speed drifts is fair to all.
 */
export async function measureKv(Kinglet, source, { kinds, contexts, threads, repeats }) {
  const model = await Kinglet.load(source, { nThreads: threads, nCtx: 64 });
  const results = [];
  try {
    for (const context of contexts) {
      const all = [];
      for (const kv of kinds) {
        const session = await model.newSession({ nCtx: context, kv });
        all.push({ session, result: { kv, context, threads, prefill: 0, decode: 0 } });
      }
      for (let i = 0; i < repeats; ++i) {
        for (const { session, result } of all) {
          await session.truncate(0);
          const { prefill, decode } = await timeGeneration(session, context - decoded, decoded);
          result.prefill = Math.max(result.prefill, prefill);
          result.decode = Math.max(result.decode, decode);
        }
      }
      for (const { session, result } of all) {
        session.dispose();
        results.push(result);
      }
    }
  } finally {
    model.dispose();
  }
  return { variant: model.info.runtime.variant, results };
}

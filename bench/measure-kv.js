// Speed of each kind of KV cache, through the package.
import { promptOf } from './measure.js';

const decoded = 32;

/**
 * Tokens per second of reading all of a context but 32 tokens, and of these; the best of all
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
          const { prefill, decode } = await speedOf(session, context - decoded);
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

/** By the worker's clock: pieces reach the page in bunches. */
async function speedOf(session, nPrompt) {
  const options = { maxTokens: decoded + 1, temperature: 0, lookup: 0 };
  const { usage, timings } = await session.generate(promptOf(nPrompt).tokens, options).result;
  if (usage.completionTokens !== decoded + 1) {
    throw new Error(`the model ended after ${usage.completionTokens} tokens`);
  }
  return {
    prefill: (nPrompt * 1000) / timings.promptMs,
    // The first token is drawn from the prompt's logits.
    decode: (decoded * 1000) / timings.decodeMs,
  };
}

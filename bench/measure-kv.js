// The speed of each kind of KV cache, measured through the package.
import { promptOf } from './measure.js';

const decoded = 32;

/**
 * Returns tokens per second: for reading a context except its last 32 tokens, and for generating
 * these. The best of all repeats counts. The kinds take turns, so that changes of the machine's
 * speed affect all of them.
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

/** Measures with the worker's clock, because pieces reach the page in groups. */
async function speedOf(session, nPrompt) {
  const options = { maxTokens: decoded + 1, temperature: 0, lookup: 0 };
  const { usage, timings } = await session.generate(promptOf(nPrompt).tokens, options).result;
  if (usage.completionTokens !== decoded + 1) {
    throw new Error(`the model ended after ${usage.completionTokens} tokens`);
  }
  return {
    prefill: (nPrompt * 1000) / timings.promptMs,
    // The first token is sampled from the prompt's logits.
    decode: (decoded * 1000) / timings.decodeMs,
  };
}

// Measures llama.cpp's speed: llama-cpp.mjs MODEL THREADS PROMPT_TOKENS DECODED_TOKENS
import { promptOf } from '../measure.js';
import { printResult, startLlama } from './llama-cpp-start.mjs';

const nCtx = 1024;
const [file, threads, nPrompt, nDecoded] = process.argv.slice(2);
const { llama, model } = await startLlama(file, Number(threads));
const context = await model.createContext({
  contextSize: nCtx,
  batchSize: 512,
  threads: Number(threads),
});
const { _ctx: engine } = context;
const sampler = new llama._bindings.AddonSampler(model._model);
sampler.applyConfig({ temperature: 0 });

await run(Number(nPrompt), 8);
const speed = await run(Number(nPrompt), Number(nDecoded));
printResult(speed);
await llama.dispose();

async function run(nTokens, nMore) {
  engine.disposeSequence(0);
  engine.setThreads(Number(threads));
  engine.initBatch(512);
  const startedAt = performance.now();
  let token = await append(promptOf(nTokens).tokens, 0);
  const firstAt = performance.now();
  for (let i = 0; i < nMore; ++i) token = await append([token], nTokens + i);
  const endedAt = performance.now();
  return {
    prefill: (nTokens * 1000) / (firstAt - startedAt),
    decode: (nMore * 1000) / (endedAt - firstAt),
  };
}

/** Computes tokens in one batch, and returns the next token. */
async function append(tokens, position) {
  engine.initBatch(tokens.length);
  const logits = Uint32Array.of(tokens.length - 1);
  const [logitIndex] = engine.addToBatch(0, position, Uint32Array.from(tokens), logits);
  await engine.decodeBatch();
  return engine.sampleToken(logitIndex, sampler);
}

// Measures llama.cpp's speed: llama-cpp.mjs MODEL THREADS DECODED_TOKENS; standard input has the
// tokens of two prompts as JSON, one for practice and the one that is measured.
import { readFileSync } from 'node:fs';
import { printResult, startLlama } from './llama-cpp-start.mjs';

const [file, threads, nDecoded] = process.argv.slice(2);
const [practice, measured] = JSON.parse(readFileSync(0, 'utf8'));
const nCtx = Math.max(1024, measured.length + 512);
const { llama, model } = await startLlama(file, Number(threads));
const context = await model.createContext({
  contextSize: nCtx,
  batchSize: 512,
  threads: Number(threads),
});
const { _ctx: engine } = context;
const sampler = new llama._bindings.AddonSampler(model._model);
sampler.applyConfig({ temperature: 0 });

await run(practice, 8);
const speed = await run(measured, Number(nDecoded));
printResult(speed);
await llama.dispose();

async function run(prompt, nMore) {
  engine.disposeSequence(0);
  engine.setThreads(Number(threads));
  engine.initBatch(512);
  const startedAt = performance.now();
  let token = await append(prompt, 0);
  const firstAt = performance.now();
  for (let i = 0; i < nMore; ++i) token = await append([token], prompt.length + i);
  const endedAt = performance.now();
  return {
    prefill: (prompt.length * 1000) / (firstAt - startedAt),
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

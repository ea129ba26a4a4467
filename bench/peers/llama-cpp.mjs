// llama.cpp as node-llama-cpp ships it, called below its queue, so that nothing but llama.cpp is
// measured: llama-cpp.mjs MODEL THREADS PROMPT_TOKENS DECODED_TOKENS
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../scripts/tools.mjs';
import { promptOf } from '../measure.js';

const nCtx = 1024;
const [file, threads, nPrompt, nDecoded] = process.argv.slice(2);
const module = join(root, 'build/bench/peers/node_modules/node-llama-cpp/dist/index.js');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(module).href);

const llama = await getLlama({
  gpu: false,
  build: 'never',
  skipDownload: true,
  progressLogs: false,
  logLevel: LlamaLogLevel.error,
  maxThreads: Number(threads),
});
const model = await llama.loadModel({ modelPath: join(root, file) });
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
console.log(JSON.stringify({ ...speed, peakBytes: process.resourceUsage().maxRSS * 1024 }));
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

/** Computes tokens in one batch; the token that follows them. */
async function append(tokens, position) {
  engine.initBatch(tokens.length);
  const logits = Uint32Array.of(tokens.length - 1);
  const [logitIndex] = engine.addToBatch(0, position, Uint32Array.from(tokens), logits);
  await engine.decodeBatch();
  return engine.sampleToken(logitIndex, sampler);
}

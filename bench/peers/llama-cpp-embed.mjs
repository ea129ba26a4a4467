// Measures llama.cpp's embeddings, one text at a time, as node-llama-cpp makes them:
// llama-cpp-embed.mjs MODEL THREADS TEXTS. TEXTS is the JSON of embedTexts()' argument.
import { measureEmbedding } from '../embed-texts.js';
import { printResult, startLlama } from './llama-cpp-start.mjs';

const nBatch = 512;
const [file, threads, of] = process.argv.slice(2);
const { llama, model } = await startLlama(file, Number(threads));
const context = await model.createEmbeddingContext({
  contextSize: nBatch,
  batchSize: nBatch,
  threads: Number(threads),
});
const { _ctx: engine } = context._llamaContext;
engine.setThreads(Number(threads));

const speed = await measureEmbedding(JSON.parse(of), async (texts) => {
  for (const { tokens } of texts) await embed(tokens);
});
printResult(speed);
await llama.dispose();

async function embed(tokens) {
  engine.disposeSequence(0);
  engine.initBatch(tokens.length);
  engine.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
  await engine.decodeBatch();
  return engine.getEmbedding(tokens.length);
}

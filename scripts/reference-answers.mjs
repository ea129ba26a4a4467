// Writes llama.cpp's answers for GGUF files, in the format that tests/fixtures/README.md describes.
// Usage: node scripts/reference-answers.mjs NODE_LLAMA_CPP FILE.gguf…
// NODE_LLAMA_CPP: the folder of an installed npm package node-llama-cpp, which contains llama.cpp's
// own binaries; it is not a dependency of this project.
import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packageFolder, ...files] = process.argv.slice(2);
if (!packageFolder || files.length === 0) {
  console.error('usage: reference-answers.mjs NODE_LLAMA_CPP FILE.gguf…');
  process.exit(1);
}

// Arbitrary ids, all below the smallest fixture's vocabulary.
const tokens = [
  1, 35, 157, 245, 57, 265, 251, 209, 190, 133, 193, 222, 90, 154, 229, 104, 204, 109, 238, 276, 20,
  129, 60, 66, 200, 170, 229, 62, 78, 90, 10, 100, 23, 206, 127, 285, 264, 204, 95, 131,
];
const positions = [0, 1, 7, 20, 39];
const nGreedy = 16;

const { getLlama, LlamaLogLevel } = await import(
  pathToFileURL(resolve(packageFolder, 'dist/index.js')).href
);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });

function logSoftmax(logits) {
  const largest = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  return logits.map((logit) => logit - largest - Math.log(sum));
}

const argmax = (numbers) => numbers.indexOf(Math.max(...numbers));

// The logits after each of the tokens.
async function evaluate(sequence, ids) {
  const options = { generateNext: { logits: true, options: { temperature: 0 } } };
  const results = await sequence.controlledEvaluate(ids.map((id) => [id, options]));
  return results.map(({ next }) => {
    const logits = [];
    for (const [token, logit] of next.logits) logits[token] = logit;
    return logits;
  });
}

async function answer(file) {
  const model = await llama.loadModel({ modelPath: resolve(file), gpuLayers: 0, useMmap: false });
  const context = await model.createContext({
    contextSize: 256,
    threads: 1, // several threads wait for each other, on a busy machine for minutes
    flashAttention: false,
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
  });
  const sequence = context.getSequence();
  const rows = (await evaluate(sequence, tokens)).map(logSoftmax);
  const greedy = [argmax(rows.at(-1))];
  while (greedy.length < nGreedy) {
    const [logits] = await evaluate(sequence, [greedy.at(-1)]);
    greedy.push(argmax(logits));
  }
  await model.dispose();
  return {
    model: basename(file),
    reference: `llama.cpp ${llama.llamaCppRelease.release}, F32 KV cache, CPU`,
    tokens,
    positions: positions.map((position) => ({
      position,
      argmax: argmax(rows[position]),
      logprobs: rows[position].map((x) => Number(x.toPrecision(6))),
    })),
    greedy,
  };
}

for (const file of files) {
  const json = JSON.stringify(await answer(file));
  await writeFile(file.replace(/\.gguf$/, '.json'), `${json}\n`);
  console.log(`${file}: written`);
}
await llama.dispose();

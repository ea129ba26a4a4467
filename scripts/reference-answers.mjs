// Writes llama.cpp's answers for GGUF files, in the format that tests/fixtures/README.md describes.
// Where there are answers, their tokens and positions are asked for again.
// Usage: node scripts/reference-answers.mjs REFERENCE FILE.gguf…
// REFERENCE: the folder of an installed npm package that contains llama.cpp's own binaries, and is
// not a dependency of this project: node-llama-cpp, or @wllama/wllama (3.13.0) for architectures that
// node-llama-cpp does not know.
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openWllama } from './wllama-reference.mjs';

const [packageFolder, ...files] = process.argv.slice(2);
if (!packageFolder || files.length === 0) {
  console.error('usage: reference-answers.mjs REFERENCE FILE.gguf…');
  process.exit(1);
}

// Arbitrary ids, all below the smallest fixture's vocabulary.
const usualTokens = [
  1, 35, 157, 245, 57, 265, 251, 209, 190, 133, 193, 222, 90, 154, 229, 104, 204, 109, 238, 276, 20,
  129, 60, 66, 200, 170, 229, 62, 78, 90, 10, 100, 23, 206, 127, 285, 264, 204, 95, 131,
];
const usualPositions = [0, 1, 7, 20, 39];
const nGreedy = 16;

const argmax = (numbers) => numbers.indexOf(Math.max(...numbers));

function questionOf(answersFile) {
  if (!existsSync(answersFile)) {
    return { tokens: usualTokens, positions: usualPositions, nGreedy };
  }
  const { tokens, positions, greedy } = JSON.parse(readFileSync(answersFile, 'utf8'));
  return {
    tokens,
    positions: positions.map(({ position }) => position),
    nGreedy: greedy.length,
  };
}

function logSoftmax(logits) {
  const largest = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  return logits.map((logit) => logit - largest - Math.log(sum));
}

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

async function openNodeLlamaCpp(folder) {
  const { getLlama, LlamaLogLevel } = await import(
    pathToFileURL(resolve(folder, 'dist/index.js')).href
  );
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  const answer = async (file, { tokens, positions, nGreedy: n }) => {
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
    while (greedy.length < n) {
      const [logits] = await evaluate(sequence, [greedy.at(-1)]);
      greedy.push(argmax(logits));
    }
    await model.dispose();
    const { release } = llama.llamaCppRelease;
    return { release, rows: positions.map((position) => rows[position]), greedy };
  };
  return { answer, close: () => llama.dispose() };
}

const { name } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
const open = name === '@wllama/wllama' ? openWllama : openNodeLlamaCpp;
const reference = await open(packageFolder);
for (const file of files) {
  const answersFile = file.replace(/\.gguf$/, '.json');
  const question = questionOf(answersFile);
  const { release, rows, greedy } = await reference.answer(file, question);
  const answers = {
    model: basename(file),
    reference: `llama.cpp ${release}, F32 KV cache, CPU`,
    tokens: question.tokens,
    positions: question.positions.map((position, i) => ({
      position,
      argmax: argmax(rows[i]),
      logprobs: rows[i].map((x) => Number(x.toPrecision(6))),
    })),
    greedy,
  };
  await writeFile(answersFile, `${JSON.stringify(answers)}\n`);
  console.log(`${file}: written`);
}
await reference.close();

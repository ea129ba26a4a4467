// npm run bench:peers: compares this project with the engines of bench/peers/package.json, with the
// same files, prompts and number of threads. The engines take turns, so that other load on the
// machine affects all of them. Needs x86-64 Linux, for which llama.cpp is installed.
//   --measure speed,first-token,products,embeddings,pictures   default: all
//       speed         tokens per second of reading a prompt, and of generating after it
//       first-token   seconds from a file that the page has stored to the first token
//       products      matrix products compared with onnxruntime-web, on one thread
//       embeddings    texts per second of embedding passages and queries
//       pictures      seconds of reading a picture, compared with wllama 3; reader weights are Q8_0
//   --shapes NAME,…           from the shapes of npm run bench; default: smollm2-135m for speed,
//                             qwen2.5-0.5b for the first token, all that have targets for
//                             embeddings and pictures (others are ignored there); products do not
//                             depend on it
//   --type Q4_0,Q8_0,…        weight types; default: for speed those for which the shape has
//                             targets, Q4_0 for the first token, F16, Q8_0, Q4_K_M for embeddings,
//                             Q8_0 for pictures
//   --prompt N,…              tokens of the prompts for speed; default 128
//   --file PATH               only the speed with another model, such as a real one, which reads
//                             the beginning of bench/stories-heldout.txt; default engines: those in
//                             README's table
//   --threads N               default 1
//   --rounds N                default 3
//   --engines NAME,…          default: those for which the type has a target
//   --readme                  puts a short table into README.md and, without --file, all into
//                             docs/measurements/small-model.md
//   --into FILE               puts the results into another document, at a comment that names the
//                             command with its --file, its --shapes, or else its --measure
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { moduleSizes } from '../scripts/check-size.mjs';
import { buildPackage } from '../scripts/package.mjs';
import { root, run, runNode } from '../scripts/tools.mjs';
import { machineName } from './machine.mjs';
import { promptOf } from './measure.js';
import { buildPrograms, copyModel, folder, prepareModel } from './models.mjs';
import { countsOf, namesOf, readOptions } from './options.mjs';
import {
  embedderNames,
  engineNames,
  firstTokenNames,
  installPeers,
  openEngines,
  pictureReaderNames,
  productNames,
} from './peers/engines.mjs';
import * as tables from './peers/tables.mjs';
import {
  comparisonsOf,
  embedShapes,
  embedTypes,
  pictureShapes,
  productShapes,
  threads as targetThreads,
  typesOf,
  usualPrompt,
} from './peers/targets.mjs';
import { preparePictureReader } from './picture-readers.mjs';
import { storyPrompt } from './story-prompt.mjs';
import { markdownTable, replaceInFile } from './table.mjs';

const measurements = ['speed', 'first-token', 'products', 'embeddings', 'pictures'];
const { values: options } = readOptions({
  options: {
    measure: { type: 'string', default: measurements.join(',') },
    shapes: { type: 'string' },
    type: { type: 'string' },
    file: { type: 'string' },
    prompt: { type: 'string', default: String(usualPrompt) },
    threads: { type: 'string', default: String(targetThreads) },
    rounds: { type: 'string', default: '3' },
    engines: { type: 'string' },
    readme: { type: 'boolean', default: false },
    into: { type: 'string' },
  },
});
const measured = options.file ? ['speed'] : namesOf('measure', options.measure, measurements);
const shapes = options.shapes && namesOf('shapes', options.shapes);
const chosenTypes = options.type && namesOf('type', options.type);
const [threads] = countsOf('threads', options.threads);
const [rounds] = countsOf('rounds', options.rounds);
const promptLengths = countsOf('prompt', options.prompt);
const chosen = options.engines && namesOf('engines', options.engines, engineNames);

run('scripts/setup', ['wasm', 'native', 'browser']);
buildPrograms(['make_model', 'speed', 'work', 'limits', 'embed_speed'], ['kinglet']);
runNode('scripts/build-wasm.mjs', ['--products']);
await buildPackage();
installPeers();
const engines = await openEngines();
const crashes = new Set();
const results = { speeds: [], firstTokens: [], products: [], embeddings: [], pictures: [] };
if (measured.includes('speed')) await measureSpeeds();
if (measured.includes('first-token')) await measureFirstTokens();
if (measured.includes('products')) await measureProducts();
if (measured.includes('embeddings')) await measureEmbeddings();
if (measured.includes('pictures')) await measurePictures();
await engines.close();
report();

function modelsOf(defaultShape, defaultTypes) {
  if (options.file) return [copyModel(options.file)];
  return (shapes ?? [defaultShape]).flatMap((shape) =>
    (chosenTypes ?? defaultTypes(shape)).map((type) => prepareModel(shape, type)),
  );
}

function enginesFor({ shape, type }) {
  if (options.file) return chosen ?? tables.shortNames;
  const compared = comparisonsOf(shape).filter(({ targets }) => type in targets);
  return engineNames.filter((name) =>
    chosen ? chosen.includes(name) : compared.some(({ ours, peer }) => [ours, peer].includes(name)),
  );
}

/** Calls work(round) in every round. */
async function inRounds(work) {
  for (let round = 1; round <= rounds; ++round) await work(round);
}

/**
 * Returns the result of run(). Calls it a second time after an error, because wllama's worker
 * crashes at times. A peer that fails twice with a model is left out with that model: the result is
 * undefined, also in later rounds.
 */
async function measuredOf(name, model, run) {
  const what = `${name} with ${model}`;
  if (crashes.has(what)) return;
  try {
    return await run();
  } catch (error) {
    console.error(`${what} failed, and is run once more: ${error.message}`);
  }
  try {
    return await run();
  } catch (error) {
    if (!/wllama|llama\.cpp/.test(name)) throw error;
    console.error(`${what} failed again, and is left out: ${error.message}`);
    crashes.add(what);
  }
}

function tell(what, round, name, numbers) {
  console.error(`${what}, round ${round} of ${rounds}: ${name} ${numbers}`);
}

async function measureSpeeds() {
  for (const model of modelsOf('smollm2-135m', typesOf)) {
    for (const nPrompt of promptLengths) await measureSpeed(model, nPrompt);
  }
}

async function measureSpeed(model, nPrompt) {
  const { shape, type, file } = model;
  const promptFor = (n) => (options.file ? storyPrompt(file, n) : promptOf(n));
  const prompts = [promptFor(usualPrompt), promptFor(nPrompt)];
  const { length } = prompts[1].tokens;
  await inRounds(async (round) => {
    for (const name of enginesFor(model)) {
      const run = () => engines.run(name, file, threads, prompts);
      const speed = await measuredOf(name, `${shape} ${type}`, run);
      if (!speed) continue;
      const numbers = `${speed.prefill.toFixed(1)} / ${speed.decode.toFixed(1)} tokens/s`;
      tell(`${shape} ${type}, ${length} tokens`, round, name, numbers);
      results.speeds.push({ shape, type, nPrompt: length, round, name, ...speed });
    }
  });
}

async function measureFirstTokens() {
  const names = firstTokenNames.filter((name) => !chosen || chosen.includes(name));
  for (const { shape, type, file } of modelsOf('qwen2.5-0.5b', () => ['Q4_0'])) {
    await engines.keep(file, threads);
    await inRounds(async (round) => {
      const { bytes, ms } = await engines.readKept();
      tell(`${shape} ${type}`, round, 'reading alone', `${ms.toFixed(0)} ms`);
      for (const name of names) {
        const spans = await engines.firstToken(name, file, threads);
        tell(`${shape} ${type}`, round, name, `first token in ${spans.firstToken.toFixed(0)} ms`);
        results.firstTokens.push({ shape, type, round, name, bytes, readingAlone: ms, ...spans });
      }
    });
  }
}

async function measureProducts() {
  for (const shape of productShapes) {
    await inRounds(async (round) => {
      for (const name of productNames) {
        const { gmacS } = await engines.multiply(name, shape);
        const { bits, nRows, nColumns, nTokens } = shape;
        const what = `${bits} bits, ${nTokens} × ${nColumns} × ${nRows}`;
        tell(what, round, name, `${gmacS.toFixed(1)} GMAC/s`);
        results.products.push({ ...shape, round, name, gmacS });
      }
    });
  }
}

async function measureEmbeddings() {
  const names = embedderNames.filter((name) => !chosen || chosen.includes(name));
  for (const [shape, texts] of Object.entries(embedShapes)) {
    if (shapes && !shapes.includes(shape)) continue;
    for (const type of chosenTypes ?? embedTypes) {
      const { file } = prepareModel(shape, type);
      await inRounds(async (round) => {
        for (const name of names) {
          const speed = await engines.embed(name, file, threads, texts);
          const numbers = `${speed.passages.toFixed(2)} / ${speed.queries.toFixed(1)} texts/s`;
          tell(`${shape} ${type}`, round, name, numbers);
          results.embeddings.push({ shape, type, round, name, ...speed });
        }
      });
    }
  }
}

async function measurePictures() {
  const names = pictureReaderNames.filter((name) => !chosen || chosen.includes(name));
  for (const shape of pictureShapes) {
    if (shapes && !shapes.includes(shape)) continue;
    const reader = preparePictureReader(shape);
    for (const type of chosenTypes ?? ['Q8_0']) {
      const { file } = prepareModel(shape, type);
      await inRounds(async (round) => {
        for (const name of names) {
          const spans = await engines.readPicture(name, { model: file, reader }, threads);
          const numbers = `${(spans.picture / 1000).toFixed(2)} s, ${spans.nTokens} tokens`;
          tell(`${shape} ${type}`, round, name, numbers);
          results.pictures.push({ shape, type, round, name, ...spans });
        }
      });
    }
  }
}

function report() {
  const machine = machineName();
  const sizes = moduleSizes();
  const ratios = tables.speedRatios(results.speeds, threads);
  const result = { date: new Date().toISOString(), machine, threads, rounds };
  const json = JSON.stringify({ ...result, ...results, ratios, sizes }, null, 1);
  writeFileSync(join(root, folder, 'peers.json'), json);

  const often = rounds === 1 ? 'One round' : `Medians of ${rounds} rounds`;
  const intro = `${machine}. Threads: ${threads}. ${often}.`;
  const sections = [
    ...(ratios.length > 0 ? tables.speedSection(results.speeds, ratios) : []),
    ...[...crashes].map((what) => `${what} crashed, twice.`),
    ...(results.firstTokens.length > 0 ? tables.firstTokenSection(results.firstTokens) : []),
    ...(results.products.length > 0 ? tables.productSection(results.products) : []),
    ...(results.embeddings.length > 0 ? tables.embedSection(results.embeddings, threads) : []),
    ...(results.pictures.length > 0 ? tables.pictureSection(results.pictures, threads) : []),
  ];
  const all = [intro, ...sections, markdownTable(sizes.map(tables.sizeRow))].join('\n\n');
  const short = [intro, markdownTable(tables.shortRows(results))].join('\n\n');
  console.log(`${short}\n\n${all}`);
  if (options.readme) {
    const end = 'end of npm run bench:peers';
    replaceInFile('README.md', 'bench:peers -- --readme', end, short);
    if (!options.file) {
      replaceInFile('docs/measurements/small-model.md', 'bench:peers -- --readme', end, all);
    }
  }
  if (options.into) {
    const shapesOrFile = options.file ? '--file' : options.shapes && `--shapes ${options.shapes}`;
    const command = `bench:peers -- ${shapesOrFile ?? `--measure ${options.measure}`}`;
    const end = `end of npm run ${command}`;
    replaceInFile(options.into, command, end, [intro, ...sections].join('\n\n'));
  }
}

// npm run bench:peers: this project beside the engines of bench/peers/package.json, on the same
// file, prompt and number of threads, in turns, so that whatever else the machine does falls on all.
// Needs x86-64 Linux, for which llama.cpp is installed.
//   --model smollm2-135m,…    shapes, of those that npm run bench knows; default: this one
//   --type Q4_0,Q8_0,…        weight types; default: those that the shape has targets for
//   --threads N               default 1
//   --rounds N                default 3
//   --engines NAME,…          default: those that the type has a target with
//   --readme                  puts the ratios into README.md
//   --into FILE               puts the ratios into another document, which names the command
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { buildPackage } from '../scripts/package.mjs';
import { root, run, runNode } from '../scripts/tools.mjs';
import { machineName } from './machine.mjs';
import { buildPrograms, folder, prepareModel } from './models.mjs';
import { countsOf, namesOf } from './options.mjs';
import { engineNames, installPeers, openEngines } from './peers/engines.mjs';
import { comparisonsOf, threads as targetThreads, typesOf } from './peers/targets.mjs';
import { markdownTable, median, replaceInFile, replaceInReadme } from './table.mjs';

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2-135m' },
    type: { type: 'string' },
    threads: { type: 'string', default: String(targetThreads) },
    rounds: { type: 'string', default: '3' },
    engines: { type: 'string' },
    readme: { type: 'boolean', default: false },
    into: { type: 'string' },
  },
});
const shapes = namesOf('model', options.model);
const chosenTypes = options.type && namesOf('type', options.type);
const [threads] = countsOf('threads', options.threads);
const [rounds] = countsOf('rounds', options.rounds);
const chosen = options.engines && namesOf('engines', options.engines, engineNames);

run('scripts/setup', ['wasm', 'native', 'browser']);
buildPrograms();
runNode('scripts/build-wasm.mjs');
await buildPackage();
installPeers();
const models = shapes.flatMap((shape) =>
  (chosenTypes ?? typesOf(shape)).map((type) => prepareModel(shape, type)),
);
const speeds = await measureAll();
report();

function enginesFor({ shape, type }) {
  const compared = comparisonsOf(shape).filter(({ targets }) => type in targets);
  return engineNames.filter((name) =>
    chosen ? chosen.includes(name) : compared.some(({ ours, peer }) => [ours, peer].includes(name)),
  );
}

/** Tokens per second of every engine in every round. */
async function measureAll() {
  const engines = await openEngines();
  const measured = [];
  for (const model of models) {
    const { shape, type, file } = model;
    for (let round = 1; round <= rounds; ++round) {
      for (const name of enginesFor(model)) {
        const { prefill, decode } = await engines.run(name, file, threads);
        const numbers = `${prefill.toFixed(1)} / ${decode.toFixed(1)} tokens/s`;
        console.error(`${shape} ${type}, round ${round} of ${rounds}: ${name} ${numbers}`);
        measured.push({ shape, type, round, name, prefill, decode });
      }
    }
  }
  await engines.close();
  return measured;
}

function report() {
  const machine = machineName();
  const ratios = models.flatMap((model) =>
    comparisonsOf(model.shape).flatMap((comparison) =>
      ['decode', 'prefill'].flatMap((kind) => ratioOf(comparison, model, kind) ?? []),
    ),
  );
  const sizes = wasmSizes();
  const result = { date: new Date().toISOString(), machine, threads, rounds };
  const json = JSON.stringify({ ...result, speeds, ratios, sizes }, null, 1);
  writeFileSync(join(root, folder, 'peers.json'), json);

  const measured =
    `${machine}. Threads: ${threads}. Tokens per second of reading a prompt of 128 tokens and of ` +
    `drawing 64 behind it; medians of ${rounds} rounds.`;
  const tables = [speedRows(), ratios.map(ratioRow), sizes.map(sizeRow)].map(markdownTable);
  console.log([measured, ...tables].join('\n\n'));
  if (options.readme) replaceInReadme('bench:peers', [measured, ...tables.slice(1)].join('\n\n'));
  if (options.into) {
    const command = `bench:peers -- --model ${options.model}`;
    const markdown = [measured, ...tables.slice(0, 2)].join('\n\n');
    replaceInFile(options.into, command, `end of npm run ${command}`, markdown);
  }
}

/** The median of the rounds' ratios: the engines of one round ran within the same minute. */
function ratioOf({ ours, peer, targets }, { shape, type }, kind) {
  const here = speedsOf(shape, type, ours, kind);
  const there = speedsOf(shape, type, peer, kind);
  if (here.length === 0 || there.length === 0) return undefined;
  const ratio = median(here.map((speed, round) => speed / there[round]));
  const target = threads === targetThreads ? targets[type]?.[kind] : undefined;
  return { shape, type, ours, peer, kind, ratio, target };
}

function speedsOf(shape, type, name, kind) {
  return speeds
    .filter((s) => s.shape === shape && s.type === type && s.name === name)
    .map((s) => s[kind]);
}

function speedRows() {
  return models.flatMap((model) =>
    enginesFor(model).map((name) => ({
      shape: model.shape,
      type: model.type,
      engine: name,
      prefill: median(speedsOf(model.shape, model.type, name, 'prefill')).toFixed(1),
      decode: median(speedsOf(model.shape, model.type, name, 'decode')).toFixed(1),
    })),
  );
}

function ratioRow({ shape, type, ours, peer, kind, ratio, target }) {
  return {
    shape,
    type,
    'this project': ours,
    peer,
    '': kind,
    ratio: `${ratio.toFixed(2)} ×`,
    target: target === undefined ? '' : `≥ ${target} ×`,
    ' ': target === undefined ? '' : verdict(ratio >= target),
  };
}

function sizeRow({ wasm, bytes, gzipped }) {
  return {
    wasm,
    KiB: (bytes / 1024).toFixed(0),
    'gzipped KiB': (gzipped / 1024).toFixed(0),
    target: '≤ 600, ≤ 230',
    ' ': verdict(bytes <= 600 * 1024 && gzipped <= 230 * 1024),
  };
}

function verdict(reached) {
  return reached ? 'pass' : 'MISS';
}

function wasmSizes() {
  return ['simd128', 'simd128-threads', 'relaxed-simd', 'relaxed-simd-threads'].map((wasm) => {
    const bytes = readFileSync(join(root, `dist/engine/kinglet-${wasm}.wasm`));
    return { wasm, bytes: bytes.length, gzipped: gzipSync(bytes, { level: 9 }).length };
  });
}

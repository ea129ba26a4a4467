// npm run bench:peers: this project beside the engines of bench/peers/package.json, on the same
// file, prompt and number of threads, in turns, so that whatever else the machine does falls on all.
// Needs x86-64 Linux, for which llama.cpp is installed.
//   --type Q4_0,Q8_0,Q4_K_M   weight types; default: these
//   --model smollm2-135m      shape, of those that npm run bench knows; targets hold for this one
//   --threads N               default 1
//   --rounds N                default 3
//   --engines NAME,…          default: those that the type has a target with
//   --readme                  puts the ratios into README.md
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
import { comparisons, shape, threads as targetThreads } from './peers/targets.mjs';
import { markdownTable, median, replaceInReadme } from './table.mjs';

const { values: options } = parseArgs({
  options: {
    type: { type: 'string', default: 'Q4_0,Q8_0,Q4_K_M' },
    model: { type: 'string', default: shape },
    threads: { type: 'string', default: String(targetThreads) },
    rounds: { type: 'string', default: '3' },
    engines: { type: 'string' },
    readme: { type: 'boolean', default: false },
  },
});
const types = namesOf('type', options.type);
const [threads] = countsOf('threads', options.threads);
const [rounds] = countsOf('rounds', options.rounds);
const chosen = options.engines && namesOf('engines', options.engines, engineNames);

run('scripts/setup', ['wasm', 'native', 'browser']);
buildPrograms();
runNode('scripts/build-wasm.mjs');
await buildPackage();
installPeers();
const speeds = await measureAll(types.map((type) => prepareModel(options.model, type)));
report();

function enginesFor(type) {
  return engineNames.filter((name) =>
    chosen
      ? chosen.includes(name)
      : comparisons.some(
          ({ ours, peer, targets }) => type in targets && [ours, peer].includes(name),
        ),
  );
}

/** Tokens per second of every engine in every round. */
async function measureAll(models) {
  const engines = await openEngines();
  const measured = [];
  for (const { type, file } of models) {
    for (let round = 1; round <= rounds; ++round) {
      for (const name of enginesFor(type)) {
        const { prefill, decode } = await engines.run(name, file, threads);
        const numbers = `${prefill.toFixed(1)} / ${decode.toFixed(1)} tokens/s`;
        console.error(`${type}, round ${round} of ${rounds}: ${name} ${numbers}`);
        measured.push({ type, round, name, prefill, decode });
      }
    }
  }
  await engines.close();
  return measured;
}

function report() {
  const machine = machineName();
  const ratios = comparisons.flatMap((comparison) =>
    types.flatMap((type) =>
      ['decode', 'prefill'].flatMap((kind) => ratioOf(comparison, type, kind) ?? []),
    ),
  );
  const sizes = wasmSizes();
  const result = { date: new Date().toISOString(), machine, model: options.model, threads, rounds };
  const json = JSON.stringify({ ...result, speeds, ratios, sizes }, null, 1);
  writeFileSync(join(root, folder, 'peers.json'), json);

  const measured =
    `${machine}. ${options.model}, threads: ${threads}. Tokens per second of reading a prompt of ` +
    `128 tokens and of drawing 64 behind it; medians of ${rounds} rounds.`;
  const tables = [speedRows(), ratios.map(ratioRow), sizes.map(sizeRow)].map(markdownTable);
  console.log([measured, ...tables].join('\n\n'));
  if (options.readme) replaceInReadme('bench:peers', [measured, ...tables.slice(1)].join('\n\n'));
}

/** The median of the rounds' ratios: the engines of one round ran within the same minute. */
function ratioOf({ ours, peer, targets }, type, kind) {
  const here = speedsOf(type, ours, kind);
  const there = speedsOf(type, peer, kind);
  if (here.length === 0 || there.length === 0) return undefined;
  const ratio = median(here.map((speed, round) => speed / there[round]));
  const hasTarget = threads === targetThreads && options.model === shape;
  return { type, ours, peer, kind, ratio, target: hasTarget ? targets[type]?.[kind] : undefined };
}

function speedsOf(type, name, kind) {
  return speeds.filter((s) => s.type === type && s.name === name).map((s) => s[kind]);
}

function speedRows() {
  return types.flatMap((type) =>
    enginesFor(type).map((name) => ({
      type,
      engine: name,
      prefill: median(speedsOf(type, name, 'prefill')).toFixed(1),
      decode: median(speedsOf(type, name, 'decode')).toFixed(1),
    })),
  );
}

function ratioRow({ type, ours, peer, kind, ratio, target }) {
  return {
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

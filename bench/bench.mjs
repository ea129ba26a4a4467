// npm run bench: how fast this project is on this machine, and how close to what the machine allows.
//   --model smollm2-135m,qwen2.5-0.5b,tinyllama-1.1b   shapes; default: the first
//   --type Q4_0,Q8_0,Q4_K_M,…       weight types; default: these three
//   --where native,chromium,node    default: all
//   --threads 1,2                   default: both
//   --kernels NAME,…                default: all but scalar; --all adds scalar
//   --repeats N                     default 5; --quick takes 2 and leaves out the long prompt
//   --json FILE                     also there; always in build/bench/bench.json
//   --profile                       instead: the functions that Chromium spends its time in, for
//                                   the first of each list
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPackage } from '../scripts/package.mjs';
import { fail, root, run, runNode } from '../scripts/tools.mjs';
import { buildPrograms, folder, prepareModel } from './models.mjs';
import { places } from './places.mjs';
import { profile } from './profile.mjs';
import { best, markdownTable, median } from './table.mjs';

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2-135m' },
    type: { type: 'string', default: 'Q4_0,Q8_0,Q4_K_M' },
    where: { type: 'string', default: Object.keys(places).join(',') },
    threads: { type: 'string', default: '1,2' },
    kernels: { type: 'string' },
    all: { type: 'boolean', default: false },
    repeats: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'boolean', default: false },
  },
});
const listOf = (text) => text.split(',').filter(Boolean);
const repeats = Number(options.repeats ?? (options.quick ? 2 : 5));
const where = listOf(options.where);
for (const place of where) {
  if (!(place in places)) fail(`--where ${place}: expected ${Object.keys(places).join(', ')}`);
}

buildPrograms();
if (where.some((place) => place !== 'native')) {
  run('scripts/setup', ['wasm', ...(where.includes('chromium') ? ['browser'] : [])]);
  runNode('scripts/build-wasm.mjs', ['--limits']);
  await buildPackage();
}
const models = listOf(options.model).flatMap((shape) =>
  listOf(options.type).map((type) => prepareModel(shape, type)),
);

const threadCounts = listOf(options.threads).map(Number);
const results = [];
if (options.profile) {
  const [kernels] = listOf(options.kernels ?? '');
  await profile(models[0], { kernels, threads: threadCounts[0] });
} else {
  for (const name of where) await measureIn(name);
  report();
}

async function measureIn(name) {
  const place = await places[name]();
  for (const model of models) {
    for (const threads of threadCounts) await measure(name, place, model, threads);
  }
  await place.close();
}

/** Every kernel set, one after the other, beside the limits of the same minute. */
async function measure(name, place, model, threads) {
  const { layers, output } = model.work;
  const limits = await place.limits(layers.bytes + output.bytes, threads);
  for (const kernels of kernelSets(limits)) {
    console.error(
      `${name} ${place.version}: ${model.shape} ${model.type}, ${threads} × ${kernels}`,
    );
    const speed = await place.speed(model.file, {
      kernels,
      threads,
      repeats,
      long: !options.quick,
    });
    const limit = limits.find((one) => one.kernels === kernels);
    results.push(describe({ where: name, model, speed, limit }));
  }
}

function kernelSets(limits) {
  const available = [...limits.map(({ kernels }) => kernels), 'scalar'];
  if (!options.kernels)
    return options.all || available.length === 1 ? available : available.slice(0, -1);
  return available.filter((kernels) => listOf(options.kernels).includes(kernels));
}

/** Medians, and what they are of the limits. */
function describe({ where: place, model, speed, limit }) {
  const { layers, output } = model.work;
  const { kernels, threads, prefill128, prefill512, decode64 } = speed;
  const prefill = prefill512.length > 0 ? prefill512 : prefill128;
  const nPrompt = prefill512.length > 0 ? 512 : 128;
  const decodeRate = median(decode64);
  const decodeGmac = (decodeRate * (layers.multiplyAdds + output.multiplyAdds)) / 1e9;
  const decodeGb = (decodeRate * (layers.bytes + output.bytes)) / 1e9;
  // The logits are computed once a prompt.
  const prefillGmac =
    (median(prefill) * (layers.multiplyAdds + output.multiplyAdds / nPrompt)) / 1e9;
  const multiplyLimit = limit?.gmacS[operandsOf(model.type)];
  return {
    where: place,
    shape: model.shape,
    type: model.type,
    kernels,
    threads,
    runs: { prefill128, prefill512, decode64 },
    median: {
      prefill128: median(prefill128),
      prefill512: median(prefill512),
      decode64: decodeRate,
    },
    prefillGmacS: prefillGmac,
    decodeGmacS: decodeGmac,
    decodeGbS: decodeGb,
    limits: limit && { gmacS: multiplyLimit, readGbS: limit.readGbS },
    shareOfMultiplyLimit: limit && prefillGmac / multiplyLimit,
    shareOfReadLimit: limit && decodeGb / limit.readGbS,
  };
}

/** What most of a model's matrices are multiplied as. */
function operandsOf(type) {
  if (/^(Q4_0|Q4_K)/.test(type)) return 'nibbles';
  return /^(Q5_0|Q5_K|Q6_K|Q8_0)/.test(type) ? 'bytes' : 'floats';
}

function report() {
  const machine = `${cpus()[0].model}, ${cpus().length} threads`;
  const json = JSON.stringify(
    { date: new Date().toISOString(), machine, repeats, results },
    null,
    1,
  );
  for (const file of [`${folder}/bench.json`, options.json]) {
    if (file) writeFileSync(join(root, file), json);
  }
  const speed = (runs) =>
    runs.length > 0 ? `${median(runs).toFixed(0)} (${best(runs).toFixed(0)})` : '';
  const share = (part) => (part === undefined ? '' : `${(100 * part).toFixed(0)} %`);
  const rows = results.map((result) => ({
    where: result.where,
    model: `${result.shape} ${result.type}`,
    kernels: result.kernels,
    threads: result.threads,
    'prefill 128': speed(result.runs.prefill128),
    'prefill 512': speed(result.runs.prefill512),
    'decode 64': speed(result.runs.decode64),
    'prefill GMAC/s': result.prefillGmacS.toFixed(1),
    'of limit': share(result.shareOfMultiplyLimit),
    'decode GMAC/s': result.decodeGmacS.toFixed(1),
    'GB/s': result.decodeGbS.toFixed(1),
    'of limit ': share(result.shareOfReadLimit),
  }));
  console.log(`${machine}. Tokens per second: median of ${repeats} runs (best).\n`);
  console.log(markdownTable(rows));
}

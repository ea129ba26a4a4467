// npm run bench: measures this project's speed on this machine, and compares it with the machine's
// limits.
//   --shapes smollm2-135m,qwen2.5-0.5b,tinyllama-1.1b,lfm2-350m,qwen3.5-0.8b,granite-4.0-h-350m,
//           falcon-h1-90m           shapes; default: the first
//   --type Q4_0,Q8_0,Q4_K_M,…       weight types; default: these three
//   --where native,chromium,node    default: all
//   --threads 1,2                   default: both
//   --kernels NAME,…                default: all but scalar; --all adds scalar
//   --repeats N                     default 3; --quick takes 2 and leaves out the long prompt
//   --json FILE                     writes the results there, too; always to build/bench/bench.json
//   --readme                        puts a table into docs/measurements/this-project.md
//   --profile                       instead prints the functions that take the most time in
//                                   Chromium, for the first item of each list
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage } from '../scripts/package.mjs';
import { root, run, runNode } from '../scripts/tools.mjs';
import { machineName } from './machine.mjs';
import { buildPrograms, folder, prepareModel } from './models.mjs';
import { countsOf, namesOf, readOptions } from './options.mjs';
import { places } from './places.mjs';
import { profile } from './profile.mjs';
import { describe, fullTable, shortTable } from './report.mjs';
import { replaceInFile } from './table.mjs';

const { values: options } = readOptions({
  options: {
    shapes: { type: 'string', default: 'smollm2-135m' },
    type: { type: 'string', default: 'Q4_0,Q8_0,Q4_K_M' },
    where: { type: 'string', default: Object.keys(places).join(',') },
    threads: { type: 'string', default: '1,2' },
    kernels: { type: 'string' },
    all: { type: 'boolean', default: false },
    repeats: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    readme: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
});
const where = namesOf('where', options.where, Object.keys(places));
const shapes = namesOf('shapes', options.shapes);
const types = namesOf('type', options.type);
const threadCounts = countsOf('threads', options.threads);
const [repeats] = countsOf('repeats', options.repeats ?? (options.quick ? '2' : '3'));
const chosenKernels = options.kernels && namesOf('kernels', options.kernels);

buildPrograms();
if (where.some((place) => place !== 'native')) {
  run('scripts/setup', ['wasm', ...(where.includes('chromium') ? ['browser'] : [])]);
  runNode('scripts/build-wasm.mjs', ['--limits']);
  await buildPackage();
}
const models = shapes.flatMap((shape) => types.map((type) => prepareModel(shape, type)));
const results = [];
if (options.profile) {
  await profile(models[0], { kernels: chosenKernels?.[0], threads: threadCounts[0] });
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

/** Measures one kernel set after the other, and the machine's limits within the same minute. */
async function measure(name, place, model, threads) {
  const { layers, output } = model.work;
  const limits = await place.limits(layers.bytes + output.bytes, threads);
  for (const kernels of kernelSets(limits)) {
    console.error(
      `${name} ${place.version}: ${model.shape} ${model.type}, ${threads} × ${kernels}`,
    );
    const long = !options.quick;
    const speed = await place.speed(model.file, { kernels, threads, repeats, long });
    const limit = limits.find((one) => one.kernels === kernels);
    results.push(describe({ where: name, model, speed, limit }));
  }
}

/** The kernel sets that have limits. The scalar kernels are the reference, not built for speed. */
function kernelSets(limits) {
  const available = [...limits.map(({ kernels }) => kernels), 'scalar'];
  if (chosenKernels) return available.filter((kernels) => chosenKernels.includes(kernels));
  return options.all || limits.length === 0 ? available : available.slice(0, -1);
}

function report() {
  const machine = machineName();
  const result = { date: new Date().toISOString(), machine, repeats, results };
  for (const file of [join(root, folder, 'bench.json'), options.json]) {
    if (file) writeFileSync(file, JSON.stringify(result, null, 1));
  }
  console.log(`${machine}. Tokens per second: median of ${repeats} runs (best).\n`);
  console.log(fullTable(results));
  const measured = `${machine}, medians of ${repeats} runs:`;
  if (options.readme) {
    const tables = `${measured}\n\n${shortTable(results)}`;
    const file = 'docs/measurements/this-project.md';
    replaceInFile(file, 'bench -- --readme', 'end of npm run bench', tables);
  }
}

// npm run bench:lookup: what guessing tokens ahead gains and costs, natively and in Chromium.
//   --shapes smollm2-135m,…        default: the first
//   --type Q4_0,Q8_0,…             weight types; default: the first
//   --where native,chromium        default: both
//   --threads 1,2                  default: 1
//   --repeats N                    default 5
//   --into FILE                    replaces the table there
import { buildPackage } from '../scripts/package.mjs';
import { run, runNode } from '../scripts/tools.mjs';
import { machineName } from './machine.mjs';
import { buildPrograms, prepareModel } from './models.mjs';
import { countsOf, namesOf, readOptions } from './options.mjs';
import { places } from './places.mjs';
import { markdownTable, median, replaceInFile } from './table.mjs';

const { values: options } = readOptions({
  options: {
    shapes: { type: 'string', default: 'smollm2-135m' },
    type: { type: 'string', default: 'Q4_0' },
    where: { type: 'string', default: 'native,chromium' },
    threads: { type: 'string', default: '1' },
    repeats: { type: 'string', default: '5' },
    into: { type: 'string' },
  },
});
const where = namesOf('where', options.where, ['native', 'chromium']);
const threadCounts = countsOf('threads', options.threads);
const [repeats] = countsOf('repeats', options.repeats);

buildPrograms(['make_model', 'work', 'lookup_speed']);
if (where.includes('chromium')) {
  run('scripts/setup', ['wasm', 'browser']);
  runNode('scripts/build-wasm.mjs');
  await buildPackage();
}
const models = namesOf('shapes', options.shapes).flatMap((shape) =>
  namesOf('type', options.type).map((type) => prepareModel(shape, type)),
);
const rows = [];
for (const name of where) {
  const place = await places[name]();
  for (const { shape, type, file } of models) {
    for (const threads of threadCounts) {
      console.error(`${name}: ${shape} ${type}, threads: ${threads}`);
      for (const result of await place.lookup(file, { threads, repeats })) {
        rows.push(describe(name, shape, type, result));
      }
    }
  }
  await place.close();
}
const table = `${machineName()}. Medians of ${repeats} runs.\n\n${markdownTable(rows)}`;
console.log(table);
if (options.into) replaceInFile(options.into, 'bench:lookup', 'end of npm run bench:lookup', table);

function describe(name, shape, type, result) {
  const { text, kernels, threads, without, with: withGuesses, guessed, kept } = result;
  const ratios = withGuesses.map((speed, i) => speed / without[i]);
  return {
    shape,
    type,
    engine: `${name}, ${kernels}`,
    threads: String(threads),
    text,
    without: median(without).toFixed(1),
    with: median(withGuesses).toFixed(1),
    ratio: `${median(ratios).toFixed(2)} ×`,
    guessed: String(guessed),
    kept: String(kept),
  };
}

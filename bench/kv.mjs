// npm run report:kv: measures memory, quality and speed of each kind of KV cache, for the embedded
// model and one in the shape of SmolLM2-135M. Writes docs/kv.json, docs/kv.svg and the tables in
// docs/kv.md.
//   --only quality,native,chromium,fork   measures only these; docs/kv.json keeps the other results
//   --model NAME,…                        only these models: kinglet-stories-5m, smollm2-135m;
//                                         qwen2.5-0.5b (only its speed) must be named
//   --file PATH                           only the speed of another model, such as a real one
//   --kinds f32,int8,…                    default: all
//   --contexts 128,512,2048               those above the model's own context length are left out
//   --repeats N                           default 3; the best one counts
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildPackage } from '../scripts/package.mjs';
import { root, run, runNode } from '../scripts/tools.mjs';
import { drawKv } from './kv-plot.mjs';
import { measureQuality } from './kv-quality.mjs';
import { describeFork, kvTables } from './kv-report.mjs';
import { machineName } from './machine.mjs';
import { buildPrograms, copyModel, prepareModel, runProgram } from './models.mjs';
import { countsOf, namesOf, readOptions } from './options.mjs';
import { places } from './places.mjs';
import { replaceInFile } from './table.mjs';

const allKinds = ['f32', 'f16', 'int8', 'fp8_e4m3', 'fp8_e5m2', 'q8', 'q4'];
const parts = ['quality', 'native', 'chromium', 'fork'];
const models = {
  'kinglet-stories-5m': {
    title: 'Kinglet Stories 5M, Q4_0',
    file: () => 'demo/models/kinglet-stories-5m-Q4_0.gguf',
    contextLength: 512,
    nWindows: Infinity,
  },
  'smollm2-135m': {
    title: 'Random weights in the shape of SmolLM2-135M, Q4_0',
    file: () => prepareModel('smollm2-135m', 'Q4_0').file,
    contextLength: 4096,
    nWindows: 8,
  },
  'qwen2.5-0.5b': {
    title: 'Random weights in the shape of Qwen2.5-0.5B, Q4_0',
    file: () => prepareModel('qwen2.5-0.5b', 'Q4_0').file,
    contextLength: 8192,
  },
};
const usual = ['kinglet-stories-5m', 'smollm2-135m'];
const json = join(root, 'docs/kv.json');

const { values: options } = readOptions({
  options: {
    only: { type: 'string', default: parts.join(',') },
    model: { type: 'string', default: usual.join(',') },
    file: { type: 'string' },
    kinds: { type: 'string', default: allKinds.join(',') },
    contexts: { type: 'string', default: '128,512,2048' },
    repeats: { type: 'string', default: '3' },
  },
});
const only = namesOf('only', options.only, parts);
const chosen = options.file
  ? [basename(options.file, '.gguf')]
  : namesOf('model', options.model, Object.keys(models));
const kinds = namesOf('kinds', options.kinds, allKinds);
const contexts = countsOf('contexts', options.contexts);
const [repeats] = countsOf('repeats', options.repeats);

buildPrograms(['make_model', 'work', 'kv_speed', 'kv_fork'], ['kinglet']);
if (only.includes('chromium')) {
  run('scripts/setup', ['wasm', 'browser']);
  runNode('scripts/build-wasm.mjs');
  await buildPackage();
}
if (options.file) {
  const { file } = copyModel(options.file);
  models[chosen[0]] = { title: chosen[0], file: () => file, contextLength: Infinity };
}
const report = existsSync(json) ? JSON.parse(readFileSync(json, 'utf8')) : { models: {} };
report.machine = machineName();
for (const name of chosen) {
  const model = (report.models[name] ??= { kinds: {} });
  model.title = models[name].title;
  await measure(model, models[name]);
}
if (only.includes('fork')) {
  [report.fork] = runProgram('kv_fork', [models['smollm2-135m'].file()]);
}
writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
const fork = report.fork ? `${describeFork(report.fork)}\n` : '';
const markdown = `${report.machine}; one thread.\n\n${kvTables(report)}\n\n${fork}`.trimEnd();
replaceInFile('docs/kv.md', 'report:kv', 'end of npm run report:kv', markdown);
writeFileSync(join(root, 'docs/kv.svg'), drawKv(report));
console.log(markdown);

async function measure(model, { file, contextLength, nWindows }) {
  const path = file();
  const resultOf = (kind) => (model.kinds[kind] ??= {});
  if (only.includes('quality') && nWindows) {
    model.quality = { contextTokens: 256, greedyTokens: 256 };
    const measured = measureQuality(path, kinds, { ...model.quality, nWindows });
    for (const [kind, result] of Object.entries(measured)) Object.assign(resultOf(kind), result);
  }
  const speed = {
    kinds,
    contexts: contexts.filter((n) => n <= contextLength),
    threads: 1,
    repeats,
  };
  for (const name of ['native', 'chromium'].filter((one) => only.includes(one))) {
    console.error(`${name}: ${model.title}`);
    const place = await places[name]();
    const { results } = await place.kv(path, speed);
    await place.close();
    for (const { kv, context, prefill, decode, ...memory } of results) {
      const { bytesPerToken, compression } = memory;
      if (bytesPerToken) Object.assign(resultOf(kv), { bytesPerToken, compression });
      const speeds = (resultOf(kv)[name] ??= {});
      speeds[context] = { prefill: Math.round(prefill), decode: Math.round(decode * 10) / 10 };
    }
  }
}

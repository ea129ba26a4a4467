// npm run bench:schema: how many schemas of MaskBench the compiler of JSON schemas can do, by the
// engine's own matcher: compiled, valid instances accepted, invalid ones refused.
//   CORPUS       JSON lines, or these with gzip; default: half of MaskBench, beside the project
//   --list FILE  writes why schemas fail there, one JSON object for each
//   --masks      instead, the time to find the tokens that may follow, at each token of the valid
//                instances of every 20th schema: SmolLM2's 49,152 tokens, and 262,144 made up
//   --chromium   instead, what a schema costs for each token there, in models with random weights
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { buildPackage } from '../scripts/package.mjs';
import { fail, root, run, runNode } from '../scripts/tools.mjs';
import { machineName } from './machine.mjs';
import { buildPrograms, prepareModel } from './models.mjs';
import { readOptions } from './options.mjs';
import { places } from './places.mjs';
import { markdownTable, median } from './table.mjs';

const { values: options, positionals } = readOptions({
  allowPositionals: true,
  options: {
    list: { type: 'string' },
    masks: { type: 'boolean', default: false },
    chromium: { type: 'boolean', default: false },
  },
});
const path = positionals[0] ?? join(root, '../shared/fixtures/schemas/maskbench-a.jsonl.gz');

if (options.chromium) {
  await measureInChromium();
} else {
  buildPrograms(['maskbench']);
  if (options.masks) measureMasks();
  else countSchemas();
}

/** Returns the lines that kinglet_maskbench prints. */
function maskbench(args) {
  const file = readFileSync(path);
  const { status, stdout } = spawnSync(join(root, 'build/native/bench/kinglet_maskbench'), args, {
    input: path.endsWith('.gz') ? gunzipSync(file) : file,
    maxBuffer: 2 ** 30,
    stdio: ['pipe', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (status !== 0) fail('kinglet_maskbench failed');
  return stdout.trim().split('\n');
}

function printTable(rows) {
  console.log(`${machineName()}\n\n${markdownTable(rows)}`);
}

function countSchemas() {
  const lines = maskbench(options.list ? ['--list'] : []);
  const totals = JSON.parse(lines.pop());
  if (options.list) writeFileSync(options.list, lines.map((line) => `${line}\n`).join(''));
  const part = (count) => `${count} (${((100 * count) / totals.schemas).toFixed(1)} %)`;
  printTable([
    {
      schemas: totals.schemas,
      passing: part(totals.passing),
      'compile errors': part(totals.compileErrors),
      'valid refused': part(totals.validRefused),
      'invalid accepted': part(totals.invalidAccepted),
      'compile p50, p99, most': `${[totals.p50, totals.p99, totals.max].map((ms) => ms.toFixed(1)).join(', ')} ms`,
      memory: `${Math.round(totals.peakBytes / 2 ** 20)} MB`,
    },
  ]);
}

function measureMasks() {
  const vocabularies = ['../shared/models/real/SmolLM2-135M-Instruct.Q4_1.gguf', 'made'];
  const rows = vocabularies.map((vocabulary) => {
    const file = vocabulary === 'made' ? vocabulary : join(root, vocabulary);
    const { mask, ...found } = JSON.parse(maskbench(['--vocabulary', file, '--every', '20']).pop());
    const times = [mask.avg, mask.p50, mask.p99, mask.max].map((us) => us.toFixed(us < 10 ? 1 : 0));
    return {
      tokens: String(found.vocabulary),
      masks: String(found.masks),
      'average, p50, p99, most': `${times.join(', ')} µs`,
      memory: `${Math.round(found.peakBytes / 2 ** 20)} MB`,
    };
  });
  printTable(rows);
}

async function measureInChromium() {
  run('scripts/setup', ['native', 'wasm', 'browser']);
  runNode('scripts/build-wasm.mjs');
  await buildPackage();
  buildPrograms(['make_model', 'work']);
  const place = await places.chromium();
  const rows = [];
  for (const shape of ['smollm2-135m', 'gemma3-1b']) {
    const { file } = prepareModel(shape, 'Q4_0');
    const measured = await place.schema(file, { threads: 1, repeats: 5 });
    const [without, withSchema] = [median(measured.without), median(measured.with)];
    rows.push({
      shape,
      kernels: measured.kernels,
      without: `${without.toFixed(2)} ms`,
      'with a schema': `${withSchema.toFixed(2)} ms`,
      more: `${(100 * (withSchema / without - 1)).toFixed(1)} %`,
    });
  }
  await place.close();
  printTable(rows);
}

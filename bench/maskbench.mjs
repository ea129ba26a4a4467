// npm run bench:schema: how many schemas of MaskBench the compiler of JSON schemas can do, by the
// engine's own matcher: compiled, valid instances accepted, invalid ones refused.
//   CORPUS       JSON lines, or these with gzip; default: half of MaskBench, beside the project
//   --list FILE  writes why schemas fail there, one JSON object for each
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { fail, root } from '../scripts/tools.mjs';
import { machineName } from './machine.mjs';
import { buildPrograms } from './models.mjs';
import { markdownTable } from './table.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'string' } },
});
const path = positionals[0] ?? join(root, '../shared/fixtures/schemas/maskbench-a.jsonl.gz');

buildPrograms(['maskbench']);
const file = readFileSync(path);
const { status, stdout } = spawnSync(
  join(root, 'build/native/bench/kinglet_maskbench'),
  options.list ? ['--list'] : [],
  {
    input: path.endsWith('.gz') ? gunzipSync(file) : file,
    maxBuffer: 2 ** 30,
    stdio: ['pipe', 'pipe', 'inherit'],
    encoding: 'utf8',
  },
);
if (status !== 0) fail('kinglet_maskbench failed');
const lines = stdout.trim().split('\n');
const totals = JSON.parse(lines.pop());
if (options.list) writeFileSync(options.list, lines.map((line) => `${line}\n`).join(''));

const part = (count) => `${count} (${((100 * count) / totals.schemas).toFixed(1)} %)`;
const table = markdownTable([
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
console.log(`${machineName()}\n\n${table}`);

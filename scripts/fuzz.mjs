// npm run fuzz [-- --time SECONDS] [--target NAME]: runs each fuzzer for this time (default 60 s),
// starting from the inputs in tests/fuzz/corpus and those that earlier runs added to build/fuzz. An
// input that crashes, leaks, takes ten seconds (one without sanitizers) or asks for 256 MB ends the
// run. Add such an input to tests/fuzz/corpus/NAME, so that the tests always run it. One fuzzer runs
// for each core at a time.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSanitized, sanitizerEnvironment } from './sanitize.mjs';
import { fail, mapInParallel, root, run } from './tools.mjs';

// These targets read similar texts, and share a dictionary.
const dictionaries = { spm: 'text', bpe: 'text', wordpiece: 'text', unigram: 'text' };

// These run threads that take and free memory at any time. Looking for leaks after each input would
// take most of the time; a leak is still found at the end.
const threaded = ['server', 'request'];

// Programs may run for two seconds without sanitizers (see src/text/jinja/interpreter.h), and run
// twice. A server's fuzzer itself reports an answer that does not come, after a minute.
const timeouts = { jinja_program: 60, server: 90, request: 90 };

const { values } = parseArgs({
  options: { time: { type: 'string', default: '60' }, target: { type: 'string' } },
});
const seconds = Number(values.time);
if (!(seconds > 0)) fail(`--time is ${values.time}, expected a number of seconds`);

run('scripts/setup', ['native', 'sanitize']);
buildSanitized(['kinglet_fuzzers']);
const folder = join(root, 'build/sanitize/tests/fuzz');
const targets = readdirSync(folder)
  .flatMap((name) => /^fuzz_(\w+)$/.exec(name)?.[1] ?? [])
  .filter((name) => values.target === undefined || name === values.target);
if (targets.length === 0) fail(`there is no target ${values.target}`);

let total = 0;
const failed = [];
await mapInParallel(targets, async (target) => {
  const { ok, executions, output } = await fuzz(target);
  total += executions;
  console.log(`${target}: ${executions.toLocaleString('en')} executions${ok ? '' : ', FAILED'}`);
  if (ok) return;
  failed.push(target);
  console.log(output.split('\n').slice(-60).join('\n'));
});
console.log(`${total.toLocaleString('en')} executions of ${targets.length} fuzzers`);
if (failed.length > 0) fail(`found something: ${failed.join(', ')} (see build/fuzz/NAME.found-*)`);

function fuzz(target) {
  const grown = join(root, 'build/fuzz', target);
  mkdirSync(grown, { recursive: true });
  const dictionary = join(root, 'tests/fuzz', `${dictionaries[target] ?? target}.dict`);
  const child = spawn(
    join(folder, `fuzz_${target}`),
    [
      grown,
      join(root, 'tests/fuzz/corpus', target),
      ...(existsSync(dictionary) ? [`-dict=${dictionary}`] : []),
      ...[`-max_total_time=${seconds}`, `-timeout=${timeouts[target] ?? 10}`],
      ...['-rss_limit_mb=1024', '-malloc_limit_mb=256', '-max_len=16384'],
      '-print_final_stats=1',
      ...(threaded.includes(target) ? ['-detect_leaks=0'] : []),
      `-artifact_prefix=${grown}.found-`,
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...sanitizerEnvironment },
    },
  );
  return new Promise((resolve, reject) => {
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('error', reject);
    child.on('close', (status) => {
      const executions = Number(/number_of_executed_units: (\d+)/.exec(output)?.[1] ?? 0);
      resolve({ ok: status === 0 && executions > 0, executions, output });
    });
  });
}

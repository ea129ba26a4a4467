// Runs GoogleTest programs, one process for each core at a time.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { mapInParallel, root } from './tools.mjs';

/**
 * Runs suites, { NAME: parts }, in their order, but so that no core waits for the end of a suite. A
 * part is { command, filter?, env? }. Writes the counts of each suite to
 * build/test-results/NAME.json, unless one of its parts did not end properly. Returns whether all
 * parts succeeded.
 */
export async function runGoogleTests(suites) {
  const results = join(root, 'build/test-results');
  mkdirSync(results, { recursive: true });
  const reportOf = (name) => join(results, `${name}.json`);
  for (const name of Object.keys(suites)) rmSync(reportOf(name), { force: true });
  const parts = Object.entries(suites).flatMap(([name, own]) => own.map((part) => [name, part]));
  const ran = await mapInParallel(parts, ([name, part], i) =>
    runPart(part, join(results, `${name}.${i}`)),
  );
  for (const name of Object.keys(suites)) {
    const own = ran.filter((_, i) => parts[i][0] === name);
    if (!own.every(({ testsuites }) => testsuites !== undefined)) continue;
    const testsuites = own.flatMap((part) => part.testsuites);
    writeFileSync(reportOf(name), JSON.stringify({ testsuites }));
  }
  return ran.every(({ status }) => status === 0);
}

/**
 * Splits a part into three for each core, each with its share of the tests, so that one share that
 * takes long is not what all cores wait for in the end.
 */
export function inShares(part) {
  const n = 3 * availableParallelism();
  return Array.from({ length: n }, (_, i) => ({
    ...part,
    env: { ...part.env, GTEST_TOTAL_SHARDS: n, GTEST_SHARD_INDEX: i },
  }));
}

function runPart({ command: [program, ...args], filter = '*', env }, file) {
  rmSync(file, { force: true });
  const options = ['--gtest_brief=1', `--gtest_filter=${filter}`, `--gtest_output=json:${file}`];
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args, ...options], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    });
    child.on('error', reject);
    child.on('close', (status) => {
      const written = existsSync(file) ? readFileSync(file, 'utf8') : '{}';
      rmSync(file, { force: true });
      resolve({ status, testsuites: JSON.parse(written).testsuites });
    });
  });
}

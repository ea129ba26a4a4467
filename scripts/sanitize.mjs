// npm run sanitize: the native tests under AddressSanitizer and UndefinedBehaviorSanitizer, and
// those of threads, caches and sessions under ThreadSanitizer. The first build is clang's of
// everything, with its warnings; it also makes the fuzzers (see fuzz.mjs).
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cmakeBuild, fail, root, run } from './tools.mjs';

const clang = ['-DCMAKE_C_COMPILER=clang-19', '-DCMAKE_CXX_COMPILER=clang++-19'];
const options = [...clang, '-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O1'];

// All but those that must be quick, and test nothing that shorter texts do not.
const tests = '*-*.TakesAMegabyteOfAnythingInItsStride';

// What runs on several threads, and what they share; ThreadSanitizer counts allocations itself.
const threadFolders = 'base;kv;session';
const threadTests = '*-Allocations.AreAllCounted';

// A small quarantine, so that memory limits mean what they say.
export const sanitizerEnvironment = {
  ASAN_OPTIONS: 'quarantine_size_mb=16:detect_leaks=1:allocator_may_return_null=1',
};

export function buildSanitized(targets) {
  cmakeBuild(
    'build/sanitize',
    [...options, '-DKINGLET_SANITIZE=address,undefined', '-DKINGLET_FUZZ=ON'],
    {
      targets,
    },
  );
}

function buildForThreads() {
  cmakeBuild(
    'build/sanitize-thread',
    [
      ...[...options, '-DKINGLET_SANITIZE=thread', '-DKINGLET_BENCH=OFF'],
      `-DKINGLET_TEST_FOLDERS=${threadFolders}`,
    ],
    { targets: ['kinglet_tests'] },
  );
}

// One process for each core, each with its share of the tests. A suite whose processes did not all
// come to their end leaves no counts.
async function test(folder, name, filter, env) {
  const results = join(root, 'build/test-results');
  mkdirSync(results, { recursive: true });
  rmSync(join(results, `${name}.json`), { force: true });
  const n = availableParallelism();
  const shards = await Promise.all(
    Array.from({ length: n }, (_, i) =>
      runShard(join(root, folder, 'tests/kinglet_tests'), filter, join(results, name), {
        ...env,
        GTEST_TOTAL_SHARDS: n,
        GTEST_SHARD_INDEX: i,
      }),
    ),
  );
  const testsuites = shards.flatMap(({ report }) => report?.testsuites ?? []);
  const complete = shards.every(({ report }) => report !== undefined);
  if (complete) writeFileSync(join(results, `${name}.json`), JSON.stringify({ testsuites }));
  return shards.every(({ status }) => status === 0);
}

function runShard(program, filter, stem, env) {
  const file = `${stem}.${env.GTEST_SHARD_INDEX}`;
  rmSync(file, { force: true });
  const args = ['--gtest_brief=1', `--gtest_filter=${filter}`, `--gtest_output=json:${file}`];
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    });
    child.on('close', (status) => {
      const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
      rmSync(file, { force: true });
      resolve({ status, report });
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  run('scripts/setup', ['native', 'sanitize']);
  buildSanitized(['all']);
  buildForThreads();
  const sound = await test('build/sanitize', 'sanitize', tests, sanitizerEnvironment);
  const threadsSound = await test('build/sanitize-thread', 'sanitize-thread', threadTests, {});
  if (!sound || !threadsSound) fail('a sanitizer or a test under it found something');
}

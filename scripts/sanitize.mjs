// npm run sanitize: the native tests under AddressSanitizer and UndefinedBehaviorSanitizer, and
// those of threads under ThreadSanitizer. The first build is clang's of everything, with its
// warnings; it also makes the fuzzers (see fuzz.mjs).
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cmakeBuild, root, run } from './tools.mjs';

const clang = ['-DCMAKE_C_COMPILER=clang-19', '-DCMAKE_CXX_COMPILER=clang++-19'];
const options = [...clang, '-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O1'];

// All but what must be quick.
const tests = '*-*.TakesAMegabyteOfAnythingInItsStride';

// What runs on several threads, and what they share.
const threadFolders = 'base;kv;session';
const threadTests = 'ThreadPool.*:Kv*:Session.*:*EachKind.*:*AgainstTheTruth.*:*Determinism.*Q4_0*';

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

function test(folder, name, filter, env) {
  const results = join(root, 'build/test-results');
  mkdirSync(results, { recursive: true });
  run(
    `${folder}/tests/kinglet_tests`,
    ['--gtest_brief=1', `--gtest_filter=${filter}`, `--gtest_output=json:${results}/${name}.json`],
    { env },
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  run('scripts/setup', ['native', 'sanitize']);
  buildSanitized(['all']);
  test('build/sanitize', 'sanitize', tests, sanitizerEnvironment);
  buildForThreads();
  test('build/sanitize-thread', 'sanitize-thread', threadTests, {});
}

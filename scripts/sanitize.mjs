// npm run sanitize: runs the native tests under AddressSanitizer and UndefinedBehaviorSanitizer,
// and those that use several threads under ThreadSanitizer. Then it runs `kinglet serve` under the
// first two. The first build compiles everything with clang and its warnings, and also builds the
// fuzzers (see fuzz.mjs).
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inShares, runGoogleTests } from './googletest.mjs';
import { cmakeBuild, fail, root, run } from './tools.mjs';

const clang = ['-DCMAKE_C_COMPILER=clang-19', '-DCMAKE_CXX_COMPILER=clang++-19'];
const options = [
  ...[...clang, '-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O1', '-DKINGLET_BENCH=OFF'],
];

// All tests except those that check speed, and the longest one with some sets of kernels: shorter
// texts, and other tests of these kernels, test the same code.
const tests =
  '*-*.TakesLongTextsOfAnythingInItsStride:Jinja.CountsAllThatTakesTime:*History.*_avx*';

// The tests that use several threads. ThreadSanitizer replaces the operators that count allocations.
const threadFolders = [
  ...['base/thread_pool', 'kernels/measured', 'model/embedding_table', 'model/encode'],
  ...['server/scheduler', 'session/determinism', 'session/memory', 'session/preparation'],
  ...['session/session', 'session/thread_choice', 'session/together', 'vision/image_reader'],
].join(';');
const threadTests = '*-Allocations.AreAllCounted';

// A small quarantine, so that freed memory does not count much towards memory limits.
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
    [...[...options, '-DKINGLET_SANITIZE=thread'], `-DKINGLET_TEST_FOLDERS=${threadFolders}`],
    { targets: ['kinglet_tests'] },
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  run('scripts/setup', ['native', 'sanitize']);
  buildSanitized(['kinglet', 'kinglet_tests', 'kinglet_fuzzers']);
  buildForThreads();
  const sound = await runGoogleTests({
    sanitize: inShares({
      command: ['build/sanitize/tests/kinglet_tests'],
      filter: tests,
      env: sanitizerEnvironment,
    }),
    'sanitize-thread': inShares({
      command: ['build/sanitize-thread/tests/kinglet_tests'],
      filter: threadTests,
    }),
  });
  if (!sound) fail('a sanitizer or a test under it found something');
  run(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', 'tests/web/serve-soundly.test.ts'],
    { env: { ...sanitizerEnvironment, KINGLET_PROGRAM: join(root, 'build/sanitize/kinglet') } },
  );
}

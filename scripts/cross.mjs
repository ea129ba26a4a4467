// npm run test:arm64, test:windows: cross-builds for another system, and runs the tests that an
// emulator can run: node scripts/cross.mjs arm64|windows
//
// 64-bit ARM, with qemu: the tests of kernels, tensor types and models that another engine
// computed, because they run different code there. To run all tests, build the preset linux-arm64;
// but the tests of time and of the process's memory,
// Pretokenizer.TakesLongTextsOfAnythingInItsStride and Memory.IsTheSameAfter500LivesOfAModel,
// then measure qemu.
//
// Windows, with wine: all tests of the core, and the tests of the program that do not need what the
// program lacks there. With cpp-httplib's single header in the folder KINGLET_HTTPLIB, the server
// and its tests are built, too.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inShares, runGoogleTests } from './googletest.mjs';
import { cmakeBuild, fail, root, run } from './tools.mjs';

const targets = { arm64: testArm64, windows: testWindows };
const name = process.argv[2];
const test = targets[name];
if (!test) fail(`cross: unknown target ${name}, expected ${Object.keys(targets).join(' or ')}`);
run('scripts/setup', ['native', name]);
if (!(await test(`build/${name}`))) fail(`a test failed on ${name}`);

async function testArm64(folder) {
  build(
    folder,
    'aarch64-linux-gnu',
    ['-DKINGLET_TEST_FOLDERS=kernels;tensor;model/parity'],
    ['kinglet_tests'],
  );
  // The older kernel sets run on processors that have no more than they need. Whole models run
  // with the newest set only.
  const on = (processor, filter) => ({
    command: [
      ...['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-cpu', processor],
      `${folder}/tests/kinglet_tests`,
    ],
    filter,
  });
  return runGoogleTests({
    arm64: [
      on('cortex-a53', '*neon-*Parity*'),
      on('neoverse-n1', '*neon_dotprod-*Parity*'),
      ...inShares(on('max', '*-*neon:*neon_dotprod:*Parity*scalar')),
    ],
  });
}

async function testWindows(folder) {
  const httplib = process.env.KINGLET_HTTPLIB ?? '';
  build(
    folder,
    'x86_64-w64-mingw32',
    [`-DKINGLET_HTTPLIB=${httplib}`],
    ['kinglet', 'kinglet_tests'],
  );
  const wine = '/usr/lib/wine/wine64';
  const env = { WINEPREFIX: join(root, folder, 'wine'), WINEDEBUG: '-all' };
  run(wine, ['wineboot', '--init'], { env });
  // Wine's services end with the last program, and services that a test starts keep its streams
  // open. So one program runs during all tests.
  const keeper = spawn(wine, ['cmd'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const command = [wine, `${folder}/tests/kinglet_tests.exe`];
  const passed = await runGoogleTests({ windows: inShares({ command, env }) });

  const program = join(root, folder, 'kinglet');
  writeFileSync(program, `#!/bin/sh\nexec ${wine} '${program}.exe' "$@"\n`, { mode: 0o755 });
  run(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', '--no-file-parallelism'],
      ...['tests/cli/cli.test.ts', 'tests/cli/grammar.test.ts', 'tests/cli/kv.test.ts'],
    ],
    { env: { ...env, KINGLET_PROGRAM: program } },
  );
  keeper.stdin.end();
  return passed;
}

function build(folder, toolchain, options, ninjaTargets) {
  cmakeBuild(
    folder,
    [
      `-DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/${toolchain}.cmake`,
      '-DKINGLET_BENCH=OFF',
      ...options,
    ],
    { targets: ninjaTargets },
  );
}

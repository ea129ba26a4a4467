// npm run test:arm64, test:windows: cross-builds for another system and runs there what an emulator
// can: node scripts/cross.mjs arm64|windows
//
// 64-bit ARM, by qemu: of all tests those of kernels, of types of tensors and of models that another
// engine computed: what runs other code there than elsewhere. For all of them build the preset
// linux-arm64; those that measure time or the process's memory,
// Pretokenizer.TakesAMegabyteOfAnythingInItsStride and Memory.IsTheSameAfter500LivesOfAModel,
// measure qemu's.
//
// Windows, by wine: all tests of the core, and those of the program that do not need what it lacks
// there. With cpp-httplib's single header in the folder KINGLET_HTTPLIB the server and its tests are
// built too.
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
  // Each kernel set on a processor that can do no more than it needs.
  const on = (processor, filter) => ({
    command: [
      ...['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-cpu', processor],
      `${folder}/tests/kinglet_tests`,
    ],
    filter,
  });
  return runGoogleTests('arm64', [
    on('cortex-a53', '*neon'),
    on('neoverse-n1', '*neon_dotprod'),
    on('max', '*-*neon:*neon_dotprod'),
  ]);
}

async function testWindows(folder) {
  const httplib = process.env.KINGLET_HTTPLIB ?? '';
  build(folder, 'x86_64-w64-mingw32', [`-DKINGLET_HTTPLIB=${httplib}`]);
  const wine = '/usr/lib/wine/wine64';
  const env = { WINEPREFIX: join(root, folder, 'wine'), WINEDEBUG: '-all' };
  run(wine, ['wineboot', '--init'], { env });
  // Wine's services end with its last program, and those that another one starts hold its streams.
  const keeper = spawn(wine, ['cmd'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const command = [wine, `${folder}/tests/kinglet_tests.exe`];
  const passed = await runGoogleTests('windows', inShares({ command, env }));

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

function build(folder, toolchain, options, ninjaTargets = []) {
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

// npm run test:arm64: the kernel sets of 64-bit ARM against the scalar one, cross-built and run by
// qemu, each set on a processor that can do no more than it needs.
//
// Of all tests those of kernels, of types of tensors and of models that another engine computed: what
// runs other code there than elsewhere. For all of them build the preset linux-arm64; those that
// measure time or the process's memory, Pretokenizer.TakesAMegabyteOfAnythingInItsStride and
// Memory.IsTheSameAfter500LivesOfAModel, measure qemu's.
import { runGoogleTests } from './googletest.mjs';
import { cmakeBuild, fail, run } from './tools.mjs';

const folder = 'build/arm64';
const emulator = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu', '-cpu'];

run('scripts/setup', ['native', 'arm64']);
cmakeBuild(
  folder,
  [
    '-DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/aarch64-linux-gnu.cmake',
    '-DKINGLET_TEST_FOLDERS=kernels;tensor;model/parity',
    '-DKINGLET_BENCH=OFF',
  ],
  { targets: ['kinglet_tests'] },
);

const on = (processor, filter) => ({
  command: [...emulator, processor, `${folder}/tests/kinglet_tests`],
  filter,
});
const passed = await runGoogleTests('arm64', [
  on('cortex-a53', '*neon'),
  on('neoverse-n1', '*neon_dotprod'),
  on('max', '*-*neon:*neon_dotprod'),
]);
if (!passed) fail('a test failed on 64-bit ARM');

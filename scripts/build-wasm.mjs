// Builds the four variants of the module into build/wasm/. --tests also builds the core's tests;
// --limits and --products build the modules that measure the machine's limits (see bench/limits)
// and matrix products (see bench/products.cpp).
import { existsSync } from 'node:fs';
import { cmakeBuild, fail, versionOf } from './tools.mjs';

const debianRoot = '/usr/share/emscripten';
const withTests = process.argv.includes('--tests');
const benchmarks = ['limits', 'products'].filter((name) => process.argv.includes(`--${name}`));

const { toolchainFile, env, options } = findEmscripten();
for (const threads of [false, true]) {
  cmakeBuild(
    `build/wasm-${threads ? 'threads' : 'single'}`,
    [
      `-DCMAKE_TOOLCHAIN_FILE=${toolchainFile}`,
      `-DKINGLET_THREADS=${threads ? 'ON' : 'OFF'}`,
      `-DKINGLET_TESTS=${threads ? 'OFF' : 'ON'}`,
      ...options,
    ],
    { env, targets: threads ? ['kinglet_modules'] : singleThreadTargets() },
  );
}

function singleThreadTargets() {
  return [
    withTests ? 'all' : 'kinglet_modules',
    ...benchmarks.flatMap((name) => [`kinglet_${name}_simd128`, `kinglet_${name}_relaxed_simd`]),
  ];
}

/** Finds Emscripten. A current one is used as it is; Debian's 3.1.6 with Debian's newer LLVM. */
function findEmscripten() {
  const version = /(\d+)\.(\d+)\.(\d+)/.exec(versionOf('emcc') ?? '');
  if (!version) fail('There is no emcc: run scripts/setup, or put a current emsdk on PATH.');
  if (Number(version[1]) >= 4) {
    const rootOfEmsdk = process.env.EMSDK ? `${process.env.EMSDK}/upstream/emscripten` : undefined;
    if (!rootOfEmsdk) fail('emcc is on PATH but EMSDK is not set: run `source emsdk_env.sh`.');
    return {
      toolchainFile: `${rootOfEmsdk}/cmake/Modules/Platform/Emscripten.cmake`,
      env: {},
      options: [],
    };
  }
  if (!existsSync('/usr/bin/clang-19')) {
    fail(`emcc ${version[0]} needs clang-19, lld-19 and llvm-19: run scripts/setup.`);
  }
  return {
    toolchainFile: `${debianRoot}/cmake/Modules/Platform/Emscripten.cmake`,
    env: {
      // Its own LLVM 14 writes relaxed SIMD with obsolete opcodes.
      EM_CLANG_ADD_VERSION: '19',
      EM_LLVM_ADD_VERSION: '19',
      // Its optimizer finds acorn here.
      NODE_PATH: '/usr/share/nodejs',
    },
    options: ['-DKINGLET_OLD_EMSCRIPTEN=ON'],
  };
}

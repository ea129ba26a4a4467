// Builds the modules of the wasm engine into build/wasm/. As a program, build-wasm.mjs [--limits]
// [--products] also builds the modules that measure the machine's limits (see bench/limits) and
// matrix products (see bench/products.cpp); build-wasm.mjs --configure only configures the build,
// tests included.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { cmakeBuild, cmakeConfigure, fail, versionOf } from './tools.mjs';

export const wasmBuild = 'build/emscripten';
export const variants = ['simd128', 'relaxed-simd', 'simd128-threads', 'relaxed-simd-threads'];
const debianRoot = '/usr/share/emscripten';

/**
 * `onlyThreads`: no modules without threads, which only pages that are not isolated need. `withTests`:
 * also the core's tests. `benchmarks`: "limits", "products".
 */
export function buildWasm({ onlyThreads = false, withTests = false, benchmarks = [] } = {}) {
  const modules = variants.filter((variant) => !onlyThreads || variant.endsWith('-threads'));
  const simds = variants.filter((variant) => !variant.endsWith('-threads'));
  const { env, options } = settings(withTests);
  const targets = [
    ...modules.map((variant) => `kinglet-${variant}`),
    ...(withTests ? simds.map((simd) => `kinglet-tests-${simd}`) : []),
    ...benchmarks.flatMap((name) => simds.map((simd) => `kinglet-${name}-${simd}`)),
  ].map((target) => target.replaceAll('-', '_'));
  cmakeBuild(wasmBuild, options, { env, targets });
}

function settings(withTests) {
  const { toolchainFile, env, options } = findEmscripten();
  return {
    env,
    options: [
      `-DCMAKE_TOOLCHAIN_FILE=${toolchainFile}`,
      `-DKINGLET_NODE=${process.execPath}`,
      `-DKINGLET_TESTS=${withTests ? 'ON' : 'OFF'}`,
      ...options,
    ],
  };
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const asked = (name) => process.argv.includes(`--${name}`);
  if (asked('configure')) {
    const { env, options } = settings(true);
    cmakeConfigure(wasmBuild, options, env);
  } else {
    buildWasm({ benchmarks: ['limits', 'products'].filter(asked) });
  }
}

// npm test: builds everything and runs all suites, even after one has failed.
// Each suite writes its counts to build/test-results/NAME.json; scripts/count-tests.mjs adds them.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { buildWasm } from './build-wasm.mjs';
import { printCounts, testSuites } from './count-tests.mjs';
import { inShares, runGoogleTests } from './googletest.mjs';
import { buildDemo, buildPackage } from './package.mjs';
import { printTimes, timed } from './times.mjs';
import { cmakeBuild, root, run } from './tools.mjs';

const results = 'build/test-results';
rmSync(join(root, results), { recursive: true, force: true });
mkdirSync(join(root, results), { recursive: true });

const times = [];
const part = (name, work) => timed(times, name, work);
await part('install', () => run('scripts/setup', ['wasm', 'native', 'browser']));
const programs = ['kinglet', 'kinglet_tests', 'kinglet_option_tables', 'kinglet_schema_texts'];
await part('build native', () => cmakeBuild('build/native', [], { targets: programs }));
await part('build wasm', () => buildWasm({ withTests: true }));
await part('build package and demo', async () => {
  await buildPackage();
  buildDemo();
});
console.log('\nGoogleTest, native and wasm');
const suites = {
  // The longest first. Both modules have the same scalar kernels, which one of them tests. One test
  // checks the processor's time, which wasm does not know, and takes minutes there.
  'wasm-simd128': inShares({
    ...wasmTests('simd128'),
    filter: '*-Jinja.CountsAllThatTakesTime',
  }),
  'wasm-relaxed-simd': inShares({ ...wasmTests('relaxed-simd'), filter: '*-*scalar' }),
  native: inShares({ command: ['build/native/tests/kinglet_tests'] }),
};
const passed = await part('test native and wasm', () => runGoogleTests(suites));
if (!passed) process.exitCode = 1;
console.log('\nPackage and browser');
const vitest = await part('test package and browsers', () =>
  spawnSync(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=json'],
      `--outputFile.json=${results}/vitest.json`,
    ],
    { cwd: root, stdio: 'inherit' },
  ),
);
if (vitest.status !== 0) process.exitCode = 1;

printTimes(times);
if (printCounts(testSuites) > 0) process.exitCode = 1;

function wasmTests(simd) {
  const program = `build/emscripten/tests/kinglet_tests_${simd.replace('-', '_')}.js`;
  return { command: [process.execPath, ...relaxedSimdFlags(simd), program] };
}

/**
 * The flags of Node for relaxed SIMD: before Node 22, it must be enabled, and only the optimizing
 * compiler computes the dot products correctly.
 */
function relaxedSimdFlags(simd) {
  const old = Number(process.versions.node.split('.')[0]) < 22;
  return simd === 'relaxed-simd' && old ? ['--experimental-wasm-relaxed-simd', '--no-liftoff'] : [];
}

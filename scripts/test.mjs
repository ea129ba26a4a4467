// npm test: builds everything and runs all suites, even after one has failed.
// Each suite writes its counts to build/test-results/NAME.json; scripts/count-tests.mjs adds them.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { buildAll } from './package.mjs';
import { countTests, testSuites } from './count-tests.mjs';
import { inShares, runGoogleTests } from './googletest.mjs';
import { cmakeBuild, root, run } from './tools.mjs';

const results = 'build/test-results';
rmSync(join(root, results), { recursive: true, force: true });

run('scripts/setup', ['wasm', 'native', 'browser']);
cmakeBuild('build/native', []);
await buildAll({ withTests: true });
mkdirSync(join(root, results), { recursive: true });

await googleTests('native', ['build/native/tests/kinglet_tests']);
for (const simd of ['simd128', 'relaxed-simd']) {
  const program = `build/wasm-single/tests/kinglet_tests_${simd.replace('-', '_')}.js`;
  await googleTests(`wasm-${simd}`, [process.execPath, ...relaxedSimdFlags(simd), program]);
}
console.log('\nPackage and browser');
const vitest = spawnSync(
  process.execPath,
  [
    ...['node_modules/vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=json'],
    `--outputFile.json=${results}/vitest.json`,
  ],
  { cwd: root, stdio: 'inherit' },
);
if (vitest.status !== 0) process.exitCode = 1;

const { passed, failed } = countTests(testSuites);
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || process.exitCode) process.exitCode = 1;

async function googleTests(name, command) {
  console.log(`\nGoogleTest, ${name}`);
  if (!(await runGoogleTests(name, inShares({ command })))) process.exitCode = 1;
}

/**
 * The flags of Node for relaxed SIMD: before Node 22, it must be enabled, and only the optimizing
 * compiler computes the dot products correctly.
 */
function relaxedSimdFlags(simd) {
  const old = Number(process.versions.node.split('.')[0]) < 22;
  return simd === 'relaxed-simd' && old ? ['--experimental-wasm-relaxed-simd', '--no-liftoff'] : [];
}

// Adds the counts that test suites left in build/test-results/. As a program, after the steps of
// .ci/run, it also counts npm run test:bundlers, sanitize and test:arm64, not just npm test.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './tools.mjs';

export const testSuites = ['native', 'wasm-simd128', 'wasm-relaxed-simd', 'vitest'];
const furtherSuites = ['bundlers', 'sanitize', 'sanitize-thread', 'arm64'];

/** Adds the suites' counts. A suite without counts (not built, or crashed) is one failure. */
export function countTests(suites) {
  const total = { passed: 0, failed: 0 };
  for (const suite of suites) {
    const { passed, failed } = countSuite(join(root, 'build/test-results', `${suite}.json`));
    total.passed += passed;
    total.failed += failed;
  }
  return total;
}

function countSuite(file) {
  if (!existsSync(file)) return { passed: 0, failed: 1 };
  const counts = JSON.parse(readFileSync(file, 'utf8'));
  if ('numPassedTests' in counts) {
    const brokenFiles = counts.testResults.filter(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    );
    return { passed: counts.numPassedTests, failed: counts.numFailedTests + brokenFiles.length };
  }
  const tests = counts.testsuites.flatMap(({ testsuite }) => testsuite);
  const failed = tests.filter((test) => test.failures).length;
  const skipped = tests.filter((test) => test.result !== 'COMPLETED').length;
  return { passed: tests.length - failed - skipped, failed };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { passed, failed } = countTests([...testSuites, ...furtherSuites]);
  console.log(`${passed} passed, ${failed} failed`);
}

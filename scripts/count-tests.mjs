// Adds the counts that the suites of npm test left in build/test-results/.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './tools.mjs';

const suites = ['native', 'wasm-simd128', 'wasm-relaxed-simd', 'vitest'];
// Of npm run sanitize, where it has run since.
const moreSuites = ['sanitize', 'sanitize-thread'];

/** A suite that left no counts, because it was not built or crashed, counts as one failure. */
export function countTests() {
  const total = { passed: 0, failed: 0 };
  for (const suite of [...suites, ...moreSuites.filter((name) => existsSync(fileOf(name)))]) {
    const { passed, failed } = countSuite(fileOf(suite));
    total.passed += passed;
    total.failed += failed;
  }
  return total;
}

function fileOf(suite) {
  return join(root, 'build/test-results', `${suite}.json`);
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
  const { passed, failed } = countTests();
  console.log(`${passed} passed, ${failed} failed`);
}

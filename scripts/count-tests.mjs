// Adds the counts that test suites left in build/test-results/ and names the tests that failed. As
// a program, after the steps of .ci/run, it also counts npm run test:endless, test:bundlers,
// sanitize and test:arm64, not just npm test.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './tools.mjs';

export const testSuites = ['native', 'wasm-simd128', 'wasm-relaxed-simd', 'vitest'];
const furtherSuites = ['endless', 'bundlers', 'sanitize', 'sanitize-thread', 'arm64'];

/**
 * Prints each test that failed, or passed only at its second attempt, with the first lines of its
 * message, then "N passed, N failed". Returns the number that failed. A suite without counts (not
 * built, or crashed) is one failure.
 */
export function printCounts(suites) {
  const results = suites.map(readSuite);
  const failures = results.flatMap((suite) => suite.failures);
  const late = results.flatMap((suite) => suite.late ?? []);
  print('Passed only at the second attempt', late);
  print('Failed', failures);
  const passed = results.reduce((sum, suite) => sum + suite.passed, 0);
  console.log(`${passed} passed, ${failures.length} failed`);
  return failures.length;
}

function print(outcome, tests) {
  for (const { test, message } of tests) {
    const lines = message.split('\n').slice(0, 15);
    console.log(['', `${outcome}: ${test}`, ...lines.map((line) => `  ${line}`)].join('\n'));
  }
}

function readSuite(suite) {
  const file = join(root, 'build/test-results', `${suite}.json`);
  if (!existsSync(file)) {
    return { passed: 0, failures: [{ test: suite, message: 'It left no counts.' }] };
  }
  const results = JSON.parse(readFileSync(file, 'utf8'));
  return 'testResults' in results ? readVitest(results) : readGoogleTest(suite, results);
}

function readVitest({ numPassedTests, testResults }) {
  const withErrors = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    // A file that could not be loaded has no tests.
    if (status === 'failed' && assertionResults.length === 0) {
      return [{ test: file, status, message }];
    }
    return assertionResults
      .filter((test) => test.status === 'failed' || test.failureMessages.length > 0)
      .map((test) => ({
        test: `${file} > ${test.fullName}`,
        status: test.status,
        message: test.failureMessages.join('\n'),
      }));
  });
  return {
    passed: numPassedTests,
    failures: withErrors.filter(({ status }) => status === 'failed'),
    late: withErrors.filter(({ status }) => status === 'passed'),
  };
}

function readGoogleTest(suite, { testsuites }) {
  const tests = testsuites.flatMap(({ testsuite }) => testsuite);
  const failures = tests
    .filter((test) => test.failures)
    .map((test) => ({
      test: `${suite} > ${test.classname}.${test.name}`,
      message: test.failures.map(({ failure }) => failure).join('\n'),
    }));
  const passed = tests.filter((test) => test.result === 'COMPLETED' && !test.failures).length;
  return { passed, failures };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  printCounts([...testSuites, ...furtherSuites]);
}

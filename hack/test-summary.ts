/**
 * Prints `N passed, N failed` from a number of failures that happened before and the JSON results of jest.
 * A suite that could not run at all (a syntax error, a failing import) counts as one failed test.
 */
import { readFileSync } from 'node:fs';

interface JestResult {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
}

const [before = '0', ...paths] = process.argv.slice(2);
if (paths.length === 0) throw new Error('usage: test-summary.ts <failures before> <jest result>...');
let passed = 0;
let failed = Number(before);
for (const path of paths) {
  const result = JSON.parse(readFileSync(path, 'utf8')) as JestResult;
  passed += result.numPassedTests;
  failed += result.numFailedTests + result.numRuntimeErrorTestSuites;
}
console.log(`${passed} passed, ${failed} failed`);

/**
 * Prints `N passed, N failed` from a jest JSON result and a number of failures that happened before.
 * A suite that could not run at all (a syntax error, a failing import) counts as one failed test.
 */
import { readFileSync } from 'node:fs';

interface JestResult {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
}

const [path, before = '0'] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: test-summary.ts <jest result> [failures before]');
const result = JSON.parse(readFileSync(path, 'utf8')) as JestResult;
const failed = result.numFailedTests + result.numRuntimeErrorTestSuites + Number(before);
console.log(`${result.numPassedTests} passed, ${failed} failed`);

/**
 * Prints `N passed, N failed` from a jest JSON result.
 * A suite that could not run at all (a syntax error, a failing import) counts as one failed test.
 */
import { readFileSync } from 'node:fs';

interface JestResult {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: test-summary.ts <jest result>');
const result = JSON.parse(readFileSync(path, 'utf8')) as JestResult;
console.log(`${result.numPassedTests} passed, ${result.numFailedTests + result.numRuntimeErrorTestSuites} failed`);

/**
 * Prints `N passed, N failed` from a number of failures that happened before and the JSON results of jest, in their order;
 * before it what was skipped because something is missing on this machine, and the tests that failed only once. Ends with 1 when something has failed. With `--repeat` and one result it
 * prints the paths of the suites that are to be run once more, a line each.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { flakesOf, type JestResult, skippedOf, suitesToRepeat, totalsOf } from './test-results.ts';

const root = join(import.meta.dirname, '..');
const shown = (path: string): string => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path);
const read = (path: string): JestResult => JSON.parse(readFileSync(path, 'utf8')) as JestResult;
const [first = '0', ...paths] = process.argv.slice(2);
if (paths.length === 0) throw new Error('usage: test-summary.ts <failures before>|--repeat <jest result>...');
const results = paths.map(read);
if (first === '--repeat') {
  for (const suite of results.flatMap(suitesToRepeat)) console.log(suite);
} else {
  for (const { reason, tests, suites } of skippedOf(results)) {
    console.log(`SKIPPED, ${tests} ${tests === 1 ? 'test' : 'tests'}: ${reason}\n  ${suites.map(shown).join('\n  ')}`);
  }
  const flakes = flakesOf(results);
  if (flakes.length > 0) console.log(`FLAKY, failed once and passed alone:\n  ${flakes.map(shown).join('\n  ')}`);
  const { passed, failed } = totalsOf(results);
  const all = failed + Number(first);
  console.log(`${passed} passed, ${all} failed`);
  process.exitCode = all > 0 ? 1 : 0;
}

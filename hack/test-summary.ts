/**
 * Prints `N passed, N failed` from a number of failures that happened before and the JSON results of jest, in their order,
 * with the tests that failed only once before it; ends with 1 when something has failed. With `--repeat` and one result it
 * prints the paths of the suites that are to be run once more, a line each.
 */
import { readFileSync } from 'node:fs';
import { flakesOf, type JestResult, suitesToRepeat, totalsOf } from './test-results.ts';

const read = (path: string): JestResult => JSON.parse(readFileSync(path, 'utf8')) as JestResult;
const [first = '0', ...paths] = process.argv.slice(2);
if (paths.length === 0) throw new Error('usage: test-summary.ts <failures before>|--repeat <jest result>...');
const results = paths.map(read);
if (first === '--repeat') {
  for (const suite of results.flatMap(suitesToRepeat)) console.log(suite);
} else {
  const flakes = flakesOf(results);
  if (flakes.length > 0) console.log(`FLAKY, failed once and passed alone:\n  ${flakes.join('\n  ')}`);
  const { passed, failed } = totalsOf(results);
  const all = failed + Number(first);
  console.log(`${passed} passed, ${all} failed`);
  process.exitCode = all > 0 ? 1 : 0;
}

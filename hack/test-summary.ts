/**
 * Prints `N passed, N failed` from a number of failures that happened before and the JSON results of jest; ends with 1 when
 * something has failed. With `--crashed` and one result it prints the paths of the suites under which Node died, a line each.
 */
import { readFileSync } from 'node:fs';
import { crashedSuites, type JestResult, totalsOf } from './test-results.ts';

const read = (path: string): JestResult => JSON.parse(readFileSync(path, 'utf8')) as JestResult;
const [first = '0', ...paths] = process.argv.slice(2);
if (paths.length === 0) throw new Error('usage: test-summary.ts <failures before>|--crashed <jest result>...');
if (first === '--crashed') {
  for (const suite of paths.flatMap((path) => crashedSuites(read(path)))) console.log(suite);
} else {
  const { passed, failed } = totalsOf(paths.map(read));
  const all = failed + Number(first);
  console.log(`${passed} passed, ${all} failed`);
  process.exitCode = all > 0 ? 1 : 0;
}

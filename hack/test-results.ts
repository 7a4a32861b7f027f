/** What jest's `--json` says of a run, as far as it is read here. */
export interface JestResult {
  readonly success: boolean;
  readonly testResults: readonly SuiteResult[];
}

interface SuiteResult {
  /** Its path. */
  readonly name: string;
  readonly status: string;
  readonly message: string;
  /** Nothing where the suite could not run. */
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/** So many suites may fail by chance. Where more do something is broken, and a second run would only take time. */
const mostByChance = 3;

/**
 * Paths of suites that are to be run once more, alone: those under which Node itself died, of which nothing is known (V8
 * crashes now and then while it collects garbage of modules in `vm` contexts, which jest lives by; nodejs/node#62393, Node
 * 24), and those that failed, as long as these are few. {@link flakesOf} reports what then passes.
 */
export function suitesToRepeat({ testResults }: JestResult): string[] {
  const crashed = testResults.filter(died);
  const failed = testResults.filter((suite) => suite.status === 'failed' && !died(suite));
  return [...crashed, ...(failed.length <= mostByChance ? failed : [])].map(({ name }) => name);
}

const died = ({ message, assertionResults }: SuiteResult): boolean =>
  assertionResults.length === 0 && /was terminated by another process: signal=SIG(SEGV|ILL|TRAP)/.test(message);

/**
 * Tests that passed and failed in runs that followed one another; of a suite that ran again only the last run counts. A
 * suite that could not run at all (a syntax error, a failing import) counts as one failed test, and so does a run that
 * failed for no reason that can be seen.
 */
export function totalsOf(results: readonly JestResult[]): { readonly passed: number; readonly failed: number } {
  // A suite has two results in a run that plays it on two topologies.
  const last = new Map<string, SuiteResult[]>();
  for (const { testResults } of results) {
    for (const [name, suites] of Map.groupBy(testResults, (suite) => suite.name)) last.set(name, suites);
  }
  let passed = 0;
  let failed = results.filter((result) => !result.success && !result.testResults.some(isFailed)).length;
  for (const suite of [...last.values()].flat()) {
    passed += suite.assertionResults.filter(({ status }) => status === 'passed').length;
    failed += Math.max(isFailed(suite) ? 1 : 0, failures(suite).length);
  }
  return { passed, failed };
}

/** Tests, behind their suites' paths, that failed and passed when their suite ran again; one line where all of a suite did. */
export function flakesOf(results: readonly JestResult[]): string[] {
  return results.flatMap((result, run) =>
    result.testResults.filter(isFailed).flatMap((suite) => {
      const later = results.slice(run + 1).flatMap(({ testResults }) => testResults);
      const again = later.filter(({ name }) => name === suite.name);
      const passes = again.length > 0 && !again.some(isFailed);
      return passes ? whatFailed(suite).map((name) => `${suite.name}: ${name}`) : [];
    }),
  );
}

function whatFailed(suite: SuiteResult): readonly string[] {
  if (died(suite)) return ['(Node died)'];
  const failed = failures(suite);
  if (failed.length === 0) return ['(did not run)'];
  // What they need did not start: that is one thing, not as many as there are tests.
  if (failed.length > 1 && suite.assertionResults.every(({ status }) => status !== 'passed')) return ['(every test)'];
  return failed.map(({ fullName }) => fullName);
}

const isFailed = ({ status }: SuiteResult): boolean => status === 'failed';
const failures = ({ assertionResults }: SuiteResult): SuiteResult['assertionResults'] =>
  assertionResults.filter(({ status }) => status === 'failed');

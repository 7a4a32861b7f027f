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
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages?: readonly string[];
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
  const failed = testResults.filter((suite) => isFailed(suite) && !died(suite));
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
  let passed = 0;
  let failed = results.filter(({ success, testResults }) => !success && !testResults.some(hasFailedStatus)).length;
  for (const suite of lastOf(results)) {
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

/** Tests that were skipped because something is missing on this machine. */
export interface SkippedTests {
  /** What is missing, and how to get it. */
  readonly reason: string;
  readonly tests: number;
  readonly suites: readonly string[];
}

/** What was skipped by {@link JestResult}s, by reason. Tests that are skipped without one, by a name pattern, are left out. */
export function skippedOf(results: readonly JestResult[]): SkippedTests[] {
  const skipped = new Map<string, { tests: number; suites: Set<string> }>();
  for (const suite of lastOf(results)) {
    for (const test of suite.assertionResults) {
      const reason = missingOf(test);
      if (reason === undefined) continue;
      const known = skipped.get(reason) ?? { tests: 0, suites: new Set() };
      skipped.set(reason, known);
      known.tests++;
      known.suites.add(suite.name);
    }
  }
  return Array.from(skipped, ([reason, { tests, suites }]) => ({ reason, tests, suites: [...suites] }));
}

/** Of a suite that ran again only the last run counts; it has two results where it is played on two topologies. */
function lastOf(results: readonly JestResult[]): SuiteResult[] {
  const last = new Map<string, SuiteResult[]>();
  for (const { testResults } of results) {
    for (const [name, suites] of Map.groupBy(testResults, (suite) => suite.name)) last.set(name, suites);
  }
  return [...last.values()].flat();
}

/** What is missing where a test was skipped (`unlessMissing`) or could not run (`MissingPrerequisiteError`). */
export function missingOf({ status, fullName, failureMessages = [] }: TestResult): string | undefined {
  if (status === 'pending') return /\(skipped: (.*)\)/.exec(fullName)?.[1];
  const messages = failureMessages.map((message) => /missing prerequisite: (.*)/.exec(message)?.[1]);
  return messages.every((reason) => reason !== undefined) ? messages[0] : undefined;
}

const hasFailedStatus = ({ status }: SuiteResult): boolean => status === 'failed';
/** A suite whose tests failed only because something is missing on this machine has not failed. */
const isFailed = ({ status, assertionResults }: SuiteResult): boolean =>
  status === 'failed' &&
  !(
    assertionResults.some(({ status }) => status === 'failed') &&
    assertionResults.every((test) => test.status !== 'failed' || missingOf(test) !== undefined)
  );
const failures = ({ assertionResults }: SuiteResult): SuiteResult['assertionResults'] =>
  assertionResults.filter((test) => test.status === 'failed' && missingOf(test) === undefined);

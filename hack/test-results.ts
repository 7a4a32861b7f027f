/** What jest's `--json` says of a run, as far as it is read here. */
export interface JestResult {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    /** Its path. */
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly unknown[];
  }[];
}

/**
 * Paths of suites that nothing is known of because Node itself died under them. V8 crashes now and then while it collects
 * garbage of modules in `vm` contexts, which jest lives by (nodejs/node#62393, Node 24).
 */
export function crashedSuites({ testResults }: JestResult): string[] {
  return testResults
    .filter(
      ({ message, assertionResults }) =>
        assertionResults.length === 0 && /was terminated by another process: signal=SIG(SEGV|ILL|TRAP)/.test(message),
    )
    .map(({ name }) => name);
}

/**
 * Tests that passed and failed in runs that followed one another. A suite that could not run at all (a syntax error, a
 * failing import) counts as one failed test; not so one that crashed and is in a later run again.
 */
export function totalsOf(results: readonly JestResult[]): { readonly passed: number; readonly failed: number } {
  let passed = 0;
  let failed = 0;
  for (const [i, result] of results.entries()) {
    const later = new Set(results.slice(i + 1).flatMap(({ testResults }) => testResults.map(({ name }) => name)));
    const again = crashedSuites(result).filter((name) => later.has(name)).length;
    const failures = result.numFailedTests + result.numRuntimeErrorTestSuites - again;
    passed += result.numPassedTests;
    failed += failures === 0 && again === 0 && !result.success ? 1 : failures;
  }
  return { passed, failed };
}

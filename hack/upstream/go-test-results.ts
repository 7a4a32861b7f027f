/** Top-level tests of a Go test binary. */
export interface GoTestResults {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** False: the binary panicked, was killed or timed out, and says nothing about the rest of its tests. */
  readonly isComplete: boolean;
}

/** Reads what a Go test binary prints with `-test.v`. A test that started and has no result counts as failed. */
export function goTestResults(output: string): GoTestResults {
  const results = new Map<string, string>();
  for (const [, result = '', test = ''] of output.matchAll(/^--- (PASS|FAIL|SKIP): (\S+) /gm))
    results.set(test, result);
  const started = Array.from(output.matchAll(/^=== RUN {3}([^\s/]+)$/gm), ([, test = '']) => test);
  const of = (result: string): string[] =>
    [...new Set([...started, ...results.keys()])].filter((test) => (results.get(test) ?? 'FAIL') === result);
  return {
    passed: of('PASS'),
    failed: of('FAIL'),
    skipped: of('SKIP'),
    isComplete: /^(PASS|FAIL)$/m.test(output) && !/^panic: /m.test(output),
  };
}

import { type JestResult, missingOf } from '../test-results.ts';

/** One run of the shaker. */
export interface ShakenRun {
  readonly seed: number;
  /** Whether its timers were stretched. */
  readonly isStretched: boolean;
  readonly result: JestResult;
}

/** A test, or a suite that did not run at all, that failed in at least one run. */
export interface ShakenFailure {
  /** Path of its suite. */
  readonly path: string;
  readonly test: string;
  readonly runs: readonly ShakenRun[];
  /** First lines of its first failure. */
  readonly message: string;
}

const maxLines = 12;

/** What failed in any of `runs`, the most frequent failure first. */
export function failuresOf(runs: readonly ShakenRun[]): ShakenFailure[] {
  const failures = new Map<string, { path: string; test: string; runs: ShakenRun[]; message: string }>();
  for (const run of runs) {
    for (const { path, test, message } of failedTests(run.result)) {
      const key = JSON.stringify([path, test]);
      const known = failures.get(key) ?? { path, test, runs: [], message: firstLines(message) };
      failures.set(key, known);
      // A suite that runs on two topologies may fail on both.
      if (known.runs.at(-1) !== run) known.runs.push(run);
    }
  }
  return [...failures.values()].sort((a, b) => b.runs.length - a.runs.length || (a.path < b.path ? -1 : 1));
}

function failedTests({ testResults }: JestResult): { path: string; test: string; message: string }[] {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap((suite) => {
      const { assertionResults } = suite;
      const failed = assertionResults.filter((test) => test.status === 'failed' && missingOf(test) === undefined);
      if (failed.length === 0 && assertionResults.some((test) => test.status === 'failed')) return [];
      if (failed.length === 0) return [{ path: suite.name, test: '(did not run)', message: suite.message }];
      return failed.map(({ fullName, failureMessages = [] }) => ({
        path: suite.name,
        test: fullName,
        message: failureMessages.join('\n'),
      }));
    });
}

function firstLines(message: string): string {
  // oxlint-disable-next-line no-control-regex -- colours of jest
  const plain = message.replaceAll(/\u001B\[\d+m/g, '');
  return plain.split('\n').slice(0, maxLines).join('\n');
}

import { ginkgoReport } from './ginkgo-report.ts';
import type { GoTestResults } from './go-test-results.ts';

const skips: readonly string[] = ['skipped', 'pending'];

/** The specs of a Ginkgo suite as tests. Without a report the suite ended before its specs did. */
export function ginkgoTestResults(report: string | undefined): GoTestResults {
  const { results, isSuccess } = report === undefined ? { results: [], isSuccess: false } : ginkgoReport(report);
  const of = (matches: (state: string) => boolean): string[] =>
    results.filter(({ state }) => matches(state)).map(({ name }) => name);
  const failed = of((state) => state !== 'passed' && !skips.includes(state));
  return {
    passed: of((state) => state === 'passed'),
    failed,
    skipped: of((state) => skips.includes(state)),
    isComplete: isSuccess || failed.length > 0,
  };
}

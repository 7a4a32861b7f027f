import { expect, test } from '@jest/globals';
import { WatchFailureReporter } from './watch-failure-reporter.ts';

test('an outage is reported once per failure count, however many watches fail, until all have recovered', () => {
  const reported: string[] = [];
  const watchFailures = new WatchFailureReporter({
    onWatchFailure: (error, failures) => reported.push(`${String(error)} ${failures}`),
  });
  const [one, other] = [{}, {}];
  for (const watch of [one, other, one, other]) watchFailures.failed(watch, 'away');
  expect(reported).toEqual(['away 1', 'away 2']);
  // The recovery of one task does not reset the count of another.
  watchFailures.recovered(one);
  watchFailures.failed(other, 'still away');
  watchFailures.failed(one, 'away again');
  expect(reported.slice(2)).toEqual(['still away 3']);
  watchFailures.recovered(one);
  watchFailures.recovered(other);
  watchFailures.failed(one, 'next');
  expect(reported.slice(3)).toEqual(['next 1']);
});

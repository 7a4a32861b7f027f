import { expect, test } from '@jest/globals';
import { failuresOf, type ShakenRun } from './failures.ts';

const run = (seed: number, tests: Readonly<Record<string, string | undefined>>): ShakenRun => ({
  seed,
  isStretched: false,
  result: {
    success: false,
    testResults: [
      {
        name: '/a',
        status: Object.values(tests).some((message) => message !== undefined) ? 'failed' : 'passed',
        message: '',
        assertionResults: Object.entries(tests).map(([fullName, message]) => ({
          fullName,
          status: message === undefined ? 'passed' : 'failed',
          failureMessages: message === undefined ? [] : [message],
        })),
      },
    ],
  },
});

test('failures are counted over the runs, the most frequent first, with their seeds and first message', () => {
  const runs = [
    run(1, { seldom: undefined, often: '\u001B[31mfirst\u001B[39m' }),
    run(2, { seldom: 'once', often: undefined }),
    run(3, { seldom: undefined, often: 'second' }),
  ];
  expect(failuresOf(runs).map(({ test, runs, message }) => [test, runs.map(({ seed }) => seed), message])).toEqual([
    ['often', [1, 3], 'first'],
    ['seldom', [2], 'once'],
  ]);
});

test('a suite that did not run is a failure', () => {
  const broken = { name: '/b', status: 'failed', message: 'SyntaxError', assertionResults: [] };
  const runs = [{ seed: 7, isStretched: true, result: { success: false, testResults: [broken] } }];
  expect(failuresOf(runs)).toMatchObject([{ path: '/b', test: '(did not run)', message: 'SyntaxError' }]);
});

test('without failures there is nothing to report', () => {
  expect(failuresOf([run(1, { a: undefined })])).toEqual([]);
});

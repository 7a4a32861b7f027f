import { expect, test } from '@jest/globals';
import { crashedSuites, type JestResult, totalsOf } from './test-results.ts';

const died = 'A jest worker process (pid=1) was terminated by another process: signal=SIGSEGV, exitCode=null.';
const broken = 'Test suite failed to run: SyntaxError';
const suite = (name: string, message = '', tests = 1): JestResult['testResults'][number] => ({
  name,
  message,
  assertionResults: Array.from({ length: tests }),
});
const result = (changes: Partial<JestResult>): JestResult => ({
  success: false,
  numPassedTests: 0,
  numFailedTests: 0,
  numRuntimeErrorTestSuites: 0,
  testResults: [],
  ...changes,
});

test('a suite under which Node died counts by its second run', () => {
  const first = result({
    numPassedTests: 5,
    numRuntimeErrorTestSuites: 1,
    testResults: [suite('/a'), suite('/b', died, 0)],
  });
  expect(crashedSuites(first)).toEqual(['/b']);
  expect(totalsOf([first])).toEqual({ passed: 5, failed: 1 });
  const well = result({ success: true, numPassedTests: 2, testResults: [suite('/b')] });
  expect(totalsOf([first, well])).toEqual({ passed: 7, failed: 0 });
  const bad = result({ numPassedTests: 1, numFailedTests: 1, testResults: [suite('/b', 'a test failed', 2)] });
  expect(totalsOf([first, bad])).toEqual({ passed: 6, failed: 1 });
  const again = result({ numRuntimeErrorTestSuites: 1, testResults: [suite('/b', died, 0)] });
  expect(totalsOf([first, again])).toEqual({ passed: 5, failed: 1 });
});

test('a suite that cannot run for another reason failed, whatever follows', () => {
  const first = result({ numRuntimeErrorTestSuites: 1, testResults: [suite('/b', broken, 0)] });
  expect(crashedSuites(first)).toEqual([]);
  expect(totalsOf([first, result({ success: true, numPassedTests: 1, testResults: [suite('/b')] })])).toEqual({
    passed: 1,
    failed: 1,
  });
});

test('a run that failed without a failed test failed', () => {
  expect(totalsOf([result({ numPassedTests: 3, testResults: [suite('/a')] })])).toEqual({ passed: 3, failed: 1 });
});

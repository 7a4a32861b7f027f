import { describe, expect, test } from '@jest/globals';
import { flakesOf, type JestResult, skippedOf, suitesToRepeat, totalsOf } from './test-results.ts';

const died = 'A jest worker process (pid=1) was terminated by another process: signal=SIGSEGV, exitCode=null.';
const broken = 'Test suite failed to run: SyntaxError';

/** A suite whose tests are named by letters: capitals failed. */
const suite = (name: string, tests: string, message = ''): JestResult['testResults'][number] => ({
  name,
  message,
  status: tests === '' || /[A-Z]/.test(tests) ? 'failed' : 'passed',
  assertionResults: tests.split('').map((letter) => ({
    fullName: letter.toLowerCase(),
    status: /[A-Z]/.test(letter) ? 'failed' : 'passed',
  })),
});
const run = (...testResults: JestResult['testResults']): JestResult => ({
  success: testResults.every(({ status }) => status === 'passed'),
  testResults,
});

test('a suite under which Node died counts by its second run', () => {
  const first = run(suite('/a', 'abcde'), suite('/b', '', died));
  expect(suitesToRepeat(first)).toEqual(['/b']);
  expect(totalsOf([first])).toEqual({ passed: 5, failed: 1 });
  const well = run(suite('/b', 'xy'));
  expect(totalsOf([first, well])).toEqual({ passed: 7, failed: 0 });
  expect(flakesOf([first, well])).toEqual(['/b: (Node died)']);
  expect(totalsOf([first, run(suite('/b', 'xY'))])).toEqual({ passed: 6, failed: 1 });
  expect(totalsOf([first, run(suite('/b', '', died))])).toEqual({ passed: 5, failed: 1 });
});

test('a test that fails once and then passes is reported as flaky, one that fails twice has failed', () => {
  const first = run(suite('/a', 'aBC'), suite('/b', 'x'), suite('/c', '', broken));
  expect(suitesToRepeat(first)).toEqual(['/a', '/c']);
  const second = run(suite('/a', 'abc'), suite('/c', '', broken));
  expect(totalsOf([first, second])).toEqual({ passed: 4, failed: 1 });
  expect(flakesOf([first, second])).toEqual(['/a: b', '/a: c']);
  expect(flakesOf([first, run(suite('/a', 'abC'))])).toEqual([]);
});

test('a suite that could not start is reported once, whatever tests it has', () => {
  const well = run(suite('/a', 'abc'), suite('/b', 'x'));
  expect(flakesOf([run(suite('/a', 'ABC')), well])).toEqual(['/a: (every test)']);
  expect(flakesOf([run(suite('/b', '', broken)), well])).toEqual(['/b: (did not run)']);
  expect(flakesOf([run(suite('/b', 'X')), well])).toEqual(['/b: x']);
});

test('a suite that runs on two topologies counts twice', () => {
  const first = run(suite('/a', 'ab'), suite('/a', 'aB'));
  expect(totalsOf([first])).toEqual({ passed: 3, failed: 1 });
  expect(totalsOf([first, run(suite('/a', 'ab'), suite('/a', 'ab'))])).toEqual({ passed: 4, failed: 0 });
  expect(flakesOf([first, run(suite('/a', 'ab'), suite('/a', 'Ab'))])).toEqual([]);
});

test('where much fails nothing is run again', () => {
  expect(suitesToRepeat(run(...['/a', '/b', '/c', '/d'].map((name) => suite(name, 'X'))))).toEqual([]);
  const crashed = ['/a', '/b', '/c', '/d'].map((name) => suite(name, '', died));
  expect(suitesToRepeat(run(...crashed))).toHaveLength(4);
});

test('a run that failed without a failed test failed', () => {
  expect(totalsOf([{ ...run(suite('/a', 'abc')), success: false }])).toEqual({ passed: 3, failed: 1 });
});

describe('what is missing on the machine', () => {
  const missing = 'Error: missing prerequisite: etcd is not on the PATH; install it\n    at findBinary';
  const tests = (name: string, ...assertionResults: JestResult['testResults'][number]['assertionResults']) => ({
    ...suite(name, ''),
    status: assertionResults.some(({ status }) => status === 'failed') ? 'failed' : 'passed',
    assertionResults,
  });
  const passes = { status: 'passed', fullName: 'passes' };
  const lacks = { status: 'failed', fullName: 'lacks', failureMessages: [missing] };
  const breaks = { status: 'failed', fullName: 'breaks', failureMessages: ['Error: expected 1'] };

  test('is listed once per reason, with the suites that need it', () => {
    const skipped = (name: string) => ({
      status: 'pending',
      fullName: `group ${name} (skipped: no helm; install Helm)`,
    });
    const result = run(tests('/a', skipped('a'), skipped('b'), passes), tests('/b', skipped('c')), tests('/c', lacks));
    expect(skippedOf([result])).toEqual([
      { reason: 'no helm; install Helm', tests: 3, suites: ['/a', '/b'] },
      { reason: 'etcd is not on the PATH; install it', tests: 1, suites: ['/c'] },
    ]);
    expect(totalsOf([result])).toEqual({ passed: 1, failed: 0 });
  });

  test('is no failure, is not run again and is not flaky; a failure beside it is', () => {
    expect(suitesToRepeat(run(tests('/a', lacks, passes)))).toEqual([]);
    const result = run(tests('/a', lacks, passes), tests('/b', lacks, breaks));
    expect(suitesToRepeat(result)).toEqual(['/b']);
    expect(totalsOf([result])).toEqual({ passed: 1, failed: 1 });
    expect(flakesOf([result, run(tests('/b', lacks, { ...breaks, status: 'passed' }))])).toEqual(['/b: breaks']);
  });

  test('tests that a name pattern leaves out are not listed', () => {
    expect(skippedOf([run(tests('/a', { status: 'pending', fullName: 'other' }))])).toEqual([]);
  });
});

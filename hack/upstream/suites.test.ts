import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { clientArguments } from './client-arguments.ts';
import { clientSuites } from './client-suites.ts';
import { deliberateFailures } from './deliberate-failures.ts';
import { ginkgoFocus } from './ginkgo-focus.ts';
import { ginkgoReport } from './ginkgo-report.ts';
import { ginkgoTestResults } from './ginkgo-test-results.ts';
import { packagesOf, sourcesOf } from './go-suite.ts';
import { goTestResults } from './go-test-results.ts';

const compatibility = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'compatibility.md'), 'utf8');

describe('the results of Go tests', () => {
  const lines = (...text: readonly string[]): string => `${text.join('\n')}\n`;
  const passed = lines(
    '=== RUN   TestA',
    '=== RUN   TestA/sub',
    '    --- FAIL: TestA/sub (0.1s)',
    '--- PASS: TestA (1s)',
  );

  test('are those of the top level', () => {
    const output = passed + lines('=== RUN   TestB', '--- FAIL: TestB (2s)', '--- SKIP: TestC (0s)', 'FAIL');
    expect(goTestResults(output)).toEqual({
      passed: ['TestA'],
      failed: ['TestB'],
      skipped: ['TestC'],
      isComplete: true,
    });
  });

  test('a test without a result failed, and a panic says nothing about the rest', () => {
    const output = passed + lines('=== RUN   TestB', 'panic: test timed out after 15m0s', 'FAIL');
    expect(goTestResults(output)).toMatchObject({ passed: ['TestA'], failed: ['TestB'], isComplete: false });
    expect(goTestResults(passed)).toMatchObject({ passed: ['TestA'], isComplete: false });
  });
});

describe('the results of Ginkgo specs', () => {
  const spec = (name: string, state: string, message?: string): object => ({
    ContainerHierarchyTexts: ['Provider', 'with a manager'],
    LeafNodeType: 'It',
    LeafNodeText: name,
    State: state,
    ...(message === undefined ? {} : { Failure: { Message: message } }),
  });
  const report = (isSuccess: boolean, ...specs: readonly object[]): string =>
    JSON.stringify([{ SuiteSucceeded: isSuccess, SpecReports: specs }]);
  const setup = { ContainerHierarchyTexts: null, LeafNodeType: 'BeforeSuite', LeafNodeText: '', State: 'failed' };

  test('are named by their containers, without those that a focus left out', () => {
    const text = report(
      true,
      spec('lists', 'passed'),
      spec('watches', 'skipped'),
      spec('waits', 'skipped', 'no shard'),
    );
    expect(ginkgoReport(text).results).toEqual([
      { name: 'Provider with a manager lists', state: 'passed', message: '' },
      { name: 'Provider with a manager waits', state: 'skipped', message: 'no shard' },
    ]);
    expect(ginkgoTestResults(text)).toEqual({
      passed: ['Provider with a manager lists'],
      failed: [],
      skipped: ['Provider with a manager waits'],
      isComplete: true,
    });
  });

  test.each(['failed', 'panicked', 'timedout', 'interrupted', 'aborted'])('a spec that %s failed', (state) => {
    expect(ginkgoTestResults(report(false, spec('lists', state, 'x')))).toMatchObject({
      failed: ['Provider with a manager lists'],
      isComplete: true,
    });
  });

  test('a suite whose setup failed, or that wrote no report, is not complete', () => {
    expect(ginkgoTestResults(report(false, setup, spec('lists', 'passed')))).toMatchObject({ isComplete: false });
    expect(ginkgoTestResults(undefined)).toEqual({ passed: [], failed: [], skipped: [], isComplete: false });
  });

  test('a focus selects specs by their whole text', () => {
    const focus = new RegExp(ginkgoFocus(['A lists (all)', 'B']));
    expect(focus.test('A lists (all)')).toBe(true);
    expect(focus.test('A lists all')).toBe(false);
    expect(focus.test('Bs')).toBe(false);
  });
});

describe('the tests that fail on purpose', () => {
  const document =
    '# Title\n\n## One\n\n| test | reason |\n|---|---|\n| `TestA`, `TestB` | `x` |\n\n## Two\n\n| `a b c` | y |\n';

  test('are the first cells of the section with the heading', () => {
    expect([...deliberateFailures(document, 'One')]).toEqual(['TestA', 'TestB']);
    expect([...deliberateFailures(document, 'Two')]).toEqual(['a b c']);
    expect(() => deliberateFailures(document, 'Three')).toThrow('docs/compatibility.md has no section Three');
  });

  test('are read from the sections that the commands name', () => {
    expect([...deliberateFailures(compatibility, "kcp's end-to-end tests")]).toContain('TestFullMigration');
    expect([...deliberateFailures(compatibility, "End-to-end tests of kcp's clients")]).toEqual([]);
  });
});

test('docs/compatibility.md names each client with the commit of its tests', () => {
  const rows = [...compatibility.matchAll(/^\| \[([\w-]+)\]\(https:\S+\) \| `[0-9a-f]{12}` \| \d+ \|/gm)];
  expect(new Set(rows.map(([, client]) => client))).toEqual(new Set(Object.keys(clientSuites)));
});

describe('the packages of a suite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'suite-'));
  const chosen = (...packages: readonly string[]): ReturnType<typeof clientArguments> =>
    clientArguments(['--client=init-agent', `--sources=${folder}`, `--binaries=${folder}`, ...packages]);
  afterAll(() => rmSync(folder, { recursive: true }));

  test('are the compiled tests, or those that are named', () => {
    expect(() => packagesOf(chosen())).toThrow(`${folder} has no compiled tests (*.test)`);
    for (const name of ['sync.test', 'e2e.test', 'api-syncagent']) writeFileSync(join(folder, name), '');
    expect(new Set(packagesOf(chosen()))).toEqual(new Set(['sync', 'e2e']));
    expect(packagesOf(chosen('sync'))).toEqual(['sync']);
    expect(() => packagesOf(chosen('sync', 'sdk'))).toThrow(`${folder} has no sdk; there are`);
  });

  test('run in the folder of their sources', () => {
    for (const path of ['sync', 'virtual/apiexport', 'virtual/api-export'])
      mkdirSync(join(folder, 'test', 'e2e', path), { recursive: true });
    expect(sourcesOf('sync', folder)).toBe(join(folder, 'test/e2e/sync'));
    expect(sourcesOf('virtual-apiexport', folder)).toBe(join(folder, 'test/e2e/virtual/apiexport'));
    expect(sourcesOf('virtual-api-export', folder)).toBe(join(folder, 'test/e2e/virtual/api-export'));
    expect(sourcesOf('e2e', folder)).toBe(join(folder, 'test/e2e'));
    expect(() => sourcesOf('sdk', folder)).toThrow(`${folder} has no package test/e2e/sdk`);
  });
});

describe('the arguments of hack/upstream/clients', () => {
  const initAgent = ['--client=init-agent', '--sources=/src'];

  test('have the compiled tests below the sources, and logs by client and profile', () => {
    expect(clientArguments(initAgent)).toMatchObject({
      client: 'init-agent',
      binaries: '/src/_build',
      profile: 'sharded',
      parallel: 2,
      minutes: 15,
      packages: [],
    });
    expect(clientArguments([...initAgent, '--profile=all-in-one']).out).toMatch(
      /\.cache\/upstream\/init-agent-all-in-one$/,
    );
    expect(
      clientArguments([...initAgent, '--binaries=/b', '--out=/o', '--run=TestX', '--parallel=1', 'clusterinit']),
    ).toMatchObject({ binaries: '/b', out: '/o', run: 'TestX', parallel: 1, packages: ['clusterinit'] });
  });

  test.each([
    [[], '--client is required: one of api-syncagent, init-agent, multicluster-provider'],
    [['--client=x', '--sources=/s'], '--client "x": expected one of api-syncagent, init-agent, multicluster-provider'],
    [['--client=toString', '--sources=/s'], '--client "toString": expected one of'],
    [['--client=init-agent'], '--sources is required'],
    [['--client=api-syncagent', '--sources=/s'], '--assets is required: the tests of api-syncagent start a'],
    [[...initAgent, '--profile=one'], '--profile "one": expected sharded or all-in-one'],
    [[...initAgent, '--parallel=0'], '--parallel "0": expected a positive number'],
    [[...initAgent, '--minutes=5m'], '--minutes "5m": expected a positive number'],
    [[...initAgent, '--shards=3'], "Unknown option '--shards'"],
  ])('%j: %s', (args, message) => {
    expect(() => clientArguments(args)).toThrow(message);
  });
});

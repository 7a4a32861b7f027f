import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import TestSequencer, { type SequencedTest } from './test-sequencer.ts';

const root = join(import.meta.dirname, '..');
const suite = (project: string, name: string): SequencedTest => ({
  path: join(root, name),
  context: { config: { displayName: { name: project } } },
});

test('suites on sharded control planes come first, then those that take long, then larger files', () => {
  const sorted = [
    suite('all-in-one', 'hack/test-summary.ts'),
    suite('all-in-one', 'hack/test-results.ts'),
    suite('all-in-one', 'e2e/workspaces/snapshot.test.ts'),
    suite('all-in-one', 'e2e/security/budgets.test.ts'),
    suite('sharded', 'e2e/sharing/broken.test.ts'),
    suite('sharded', 'e2e/workspaces/snapshot.test.ts'),
  ];
  expect(new TestSequencer().sort(sorted.toReversed())).toEqual([
    sorted[5],
    sorted[4],
    sorted[3],
    sorted[2],
    sorted[1],
    sorted[0],
  ]);
});

test('every suite with a recorded duration exists', () => {
  const text = readFileSync(join(import.meta.dirname, 'test-durations.data.json'), 'utf8');
  const names = Object.keys(JSON.parse(text) as object);
  expect(names.filter((name) => !existsSync(join(root, name.slice(name.indexOf(' ') + 1))))).toEqual([]);
  expect(names.length).toBeGreaterThan(0);
});

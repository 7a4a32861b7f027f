import { expect, test } from '@jest/globals';
import ShufflingSequencer from './shuffling-sequencer.ts';
import { shuffled } from './shuffled.ts';

const items = Array.from({ length: 100 }, (_, n) => n);

test('the order depends on the seed alone, and nothing is lost', () => {
  expect(shuffled(items, 7)).toEqual(shuffled(items, 7));
  expect(shuffled(items, 7)).not.toEqual(shuffled(items, 8));
  expect(shuffled(items, 7).toSorted((a, b) => a - b)).toEqual(items);
});

test('every item comes first for some seed', () => {
  const few = items.slice(0, 5);
  const firsts = new Set(Array.from({ length: 100 }, (_, seed) => shuffled(few, seed)[0]));
  expect(firsts).toEqual(new Set(few));
});

test('files are shuffled, those on sharded control planes before the others', () => {
  const file = (project: string, path: string) => ({ path, context: { config: { displayName: { name: project } } } });
  const files = 'abcdefgh'.split('').flatMap((name) => [file('all-in-one', name), file('sharded', name)]);
  const sorted = new ShufflingSequencer({ globalConfig: { seed: 3 } }).sort(files);
  expect(sorted.map(({ context }) => context.config.displayName.name)).toEqual([
    ...Array<string>(8).fill('sharded'),
    ...Array<string>(8).fill('all-in-one'),
  ]);
  const paths = sorted.map(({ path }) => path).join('');
  expect(paths).not.toBe('abcdefghabcdefgh');
  expect(new ShufflingSequencer({ globalConfig: { seed: 3 } }).sort(files.toReversed())).toEqual(sorted);
});

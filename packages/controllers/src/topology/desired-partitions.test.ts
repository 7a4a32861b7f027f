import { describe, expect, test } from '@jest/globals';
import { partitionsOf } from './partitions-of.ts';

const shards = [
  { name: 'a', region: 'EU', zone: '1' },
  { name: 'b', region: 'EU', zone: '2' },
  { name: 'c', region: 'US', zone: '1' },
  { name: 'd', region: 'EU', zone: '1' },
  { name: 'e', region: 'EU' },
];

describe('partitions of a set', () => {
  test('one for each tuple of values; a shard without one of the labels is in none', () => {
    expect(partitionsOf('set', { dimensions: ['zone', 'region'] }, shards)).toEqual([
      { generateName: 'set-eu-1-', selector: { matchLabels: { region: 'EU', zone: '1' } } },
      { generateName: 'set-eu-2-', selector: { matchLabels: { region: 'EU', zone: '2' } } },
      { generateName: 'set-us-1-', selector: { matchLabels: { region: 'US', zone: '1' } } },
    ]);
  });

  test('only of shards that are selected, and with what they were selected by', () => {
    const matchExpressions = [{ key: 'zone', operator: 'In', values: ['2'] }];
    const shardSelector = { matchLabels: { region: 'EU' }, matchExpressions };
    expect(partitionsOf('set', { dimensions: ['zone'], shardSelector }, shards)).toEqual([
      { generateName: 'set-2-', selector: { matchLabels: { region: 'EU', zone: '2' }, matchExpressions } },
    ]);
    expect(
      partitionsOf('set', { dimensions: ['zone'], shardSelector: { matchLabels: { region: 'X' } } }, shards),
    ).toEqual([]);
  });

  test('without dimensions all shards are one', () => {
    expect(partitionsOf('set', {}, shards)).toEqual([{ generateName: 'set-', selector: { matchLabels: {} } }]);
  });

  test('names leave room for what the server appends', () => {
    const [partition] = partitionsOf('n'.repeat(250), { dimensions: ['name'] }, [{ name: 'long' }]);
    expect(partition?.generateName).toBe(`${'n'.repeat(250)}-l-`);
  });

  test('labels called as members of every object are labels', () => {
    expect(partitionsOf('set', { dimensions: ['constructor'] }, shards)).toEqual([]);
  });

  test('a selector that says nothing sensible is an error', () => {
    const shardSelector = { matchExpressions: [{ key: 'a', operator: 'Like', values: ['x'] }] };
    expect(() => partitionsOf('set', { shardSelector }, shards)).toThrow('Like');
  });
});

import { describe, expect, test } from '@jest/globals';
import { desiredPartitions } from './desired-partitions.ts';

const shards = [
  { name: 'a', region: 'EU', zone: '1' },
  { name: 'b', region: 'EU', zone: '2' },
  { name: 'c', region: 'US', zone: '1' },
  { name: 'd', region: 'EU', zone: '1' },
  { name: 'e', region: 'EU' },
];

describe('desired partitions', () => {
  test('are one for each tuple of values; shards without one of the labels are in none', () => {
    expect(desiredPartitions('set', { dimensions: ['zone', 'region'] }, shards)).toEqual([
      { generateName: 'set-eu-1-', selector: { matchLabels: { region: 'EU', zone: '1' } } },
      { generateName: 'set-eu-2-', selector: { matchLabels: { region: 'EU', zone: '2' } } },
      { generateName: 'set-us-1-', selector: { matchLabels: { region: 'US', zone: '1' } } },
    ]);
  });

  test('are of selected shards only, with the expressions of the selector', () => {
    const matchExpressions = [{ key: 'zone', operator: 'In', values: ['2'] }];
    const shardSelector = { matchLabels: { region: 'EU' }, matchExpressions };
    expect(desiredPartitions('set', { dimensions: ['zone'], shardSelector }, shards)).toEqual([
      { generateName: 'set-2-', selector: { matchLabels: { region: 'EU', zone: '2' }, matchExpressions } },
    ]);
    expect(
      desiredPartitions('set', { dimensions: ['zone'], shardSelector: { matchLabels: { region: 'X' } } }, shards),
    ).toEqual([]);
  });

  test('are none without a dimension and without labels in the selector, as in kcp', () => {
    expect(desiredPartitions('set', {}, shards)).toEqual([]);
    expect(desiredPartitions('set', { shardSelector: {} }, shards)).toEqual([]);
  });

  test('have names with room for the suffix that the server appends', () => {
    const [partition] = desiredPartitions('n'.repeat(250), { dimensions: ['name'] }, [{ name: 'long' }]);
    expect(partition?.generateName).toBe(`${'n'.repeat(250)}-l-`);
  });

  test('handle labels named like properties of Object.prototype', () => {
    expect(desiredPartitions('set', { dimensions: ['constructor'] }, shards)).toEqual([]);
  });

  test('throw for an invalid selector', () => {
    const shardSelector = { matchExpressions: [{ key: 'a', operator: 'Like', values: ['x'] }] };
    expect(() => desiredPartitions('set', { shardSelector }, shards)).toThrow('Like');
  });
});

import { describe, expect, test } from '@jest/globals';
import { chooseShard, shardSelector, type ShardState } from './choose-shard.ts';
import { capacityAnnotation, unschedulableAnnotation, type Shard } from './kinds.ts';

const shard = (name: string, labels: Record<string, string> = {}, annotations: Record<string, string> = {}): Shard => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name, labels: { name, ...labels }, annotations },
  spec: { baseURL: `https://${name}` },
});
const state = (dead: string[] = [], loads: Record<string, number> = {}): ShardState => ({
  isAlive: (name) => !dead.includes(name),
  load: (name) => loads[name] ?? 0,
  onRelief: () => {},
});
const everything = shardSelector(undefined);

/** How often each shard is chosen when chance runs through all of [0, 1) evenly. */
function shares(candidates: Shard[], of: ShardState = state(), selector = everything): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < 1000; i++) {
    const name = chooseShard(candidates, selector, of, () => i / 1000)?.metadata.name ?? 'none';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('a shard for a workspace', () => {
  test('is any of them, each as often as the others', () => {
    expect(shares([shard('a'), shard('b')])).toEqual({ a: 500, b: 500 });
  });

  test('fits the selector', () => {
    const selector = shardSelector({ matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] });
    expect(shares([shard('a', { region: 'eu' }), shard('b', { region: 'us' })], state(), selector)).toEqual({
      a: 1000,
    });
    expect(shares([shard('b')], state(), selector)).toEqual({ none: 1000 });
  });

  test('is not closed, being deleted, or dead', () => {
    const ending = shard('ending');
    ending.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    const closed = shard('closed', {}, { [unschedulableAnnotation]: '' });
    expect(shares([ending, closed, shard('dead'), shard('good')], state(['dead']))).toEqual({ good: 1000 });
  });

  test('has room, and the more of it the more often', () => {
    const of = (capacity: string) => ({ [capacityAnnotation]: capacity });
    const candidates = [shard('a', {}, of('100')), shard('b', {}, of('400')), shard('full', {}, of('10'))];
    expect(shares(candidates, state([], { a: 0, b: 100, full: 12 }))).toEqual({ a: 250, b: 750 });
    expect(shares([shard('full', {}, of('10'))], state([], { full: 10 }))).toEqual({ none: 1000 });
  });

  test('without a capacity counts like the emptiest of the others', () => {
    const candidates = [
      shard('a', {}, { [capacityAnnotation]: '100' }),
      shard('b'),
      shard('c', {}, { [capacityAnnotation]: 'many' }),
    ];
    expect(shares(candidates, state([], { a: 50 }))).toEqual({ a: 334, b: 333, c: 333 });
  });

  test('cannot be found by a selector that nobody understands', () => {
    expect(() => shardSelector({ matchExpressions: [{ key: 'name', operator: 'Bogus' }] })).toThrow(
      '"Bogus" is not a valid label selector operator',
    );
  });
});

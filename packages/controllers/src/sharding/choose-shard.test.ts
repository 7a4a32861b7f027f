import { describe, expect, test } from '@jest/globals';
import { chooseShard, shardSelector, type ShardState, type ShardRequest } from './choose-shard.ts';
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
  onAvailable: () => {},
});
const everything = shardSelector(undefined);

/** How often each shard is chosen when chance runs through all of [0, 1) evenly. */
function shares(
  candidates: Shard[],
  of: ShardState = state(),
  { selector = everything, preferred }: Partial<ShardRequest> = {},
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < 1000; i++) {
    const name = chooseShard(candidates, { selector, preferred }, of, () => i / 1000)?.metadata.name ?? 'none';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('the shard of a workspace', () => {
  test('is chosen with equal probability', () => {
    expect(shares([shard('a'), shard('b')])).toEqual({ a: 500, b: 500 });
  });

  test('matches the selector', () => {
    const selector = shardSelector({ matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] });
    expect(shares([shard('a', { region: 'eu' }), shard('b', { region: 'us' })], state(), { selector })).toEqual({
      a: 1000,
    });
    expect(shares([shard('b')], state(), { selector })).toEqual({ none: 1000 });
  });

  test('is not unschedulable, being deleted or dead', () => {
    const ending = shard('ending');
    ending.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    const closed = shard('closed', {}, { [unschedulableAnnotation]: '' });
    expect(shares([ending, closed, shard('dead'), shard('good')], state(['dead']))).toEqual({ good: 1000 });
  });

  test('has free capacity, and is weighted by it', () => {
    const of = (capacity: string) => ({ [capacityAnnotation]: capacity });
    const candidates = [shard('a', {}, of('100')), shard('b', {}, of('400')), shard('full', {}, of('10'))];
    expect(shares(candidates, state([], { a: 0, b: 100, full: 12 }))).toEqual({ a: 250, b: 750 });
    expect(shares([shard('full', {}, of('10'))], state([], { full: 10 }))).toEqual({ none: 1000 });
  });

  test('without a capacity has the weight of the emptiest other shard', () => {
    const candidates = [
      shard('a', {}, { [capacityAnnotation]: '100' }),
      shard('b'),
      shard('c', {}, { [capacityAnnotation]: 'many' }),
    ];
    expect(shares(candidates, state([], { a: 50 }))).toEqual({ a: 334, b: 333, c: 333 });
  });

  test('cannot be chosen by an invalid selector', () => {
    expect(() => shardSelector({ matchExpressions: [{ key: 'name', operator: 'Bogus' }] })).toThrow(
      '"Bogus" is not a valid label selector operator',
    );
  });
});

describe('the preferred shard', () => {
  const near = { preferred: 'b' };
  const two = [shard('a'), shard('b')];

  test('is chosen while it is not overloaded', () => {
    expect(shares(two, state(), near)).toEqual({ b: 1000 });
    // A quarter above its share of all, which is 300, plus a hundred.
    expect(shares(two, state([], { a: 125, b: 475 }), near)).toEqual({ b: 1000 });
    expect(shares(two, state([], { a: 124, b: 476 }), near)).toEqual({ a: 500, b: 500 });
    expect(shares([shard('b')], state([], { b: 100_000 }), near)).toEqual({ b: 1000 });
  });

  test('may hold more with a larger capacity', () => {
    const of = (capacity: string) => ({ [capacityAnnotation]: capacity });
    const load = state([], { a: 300, b: 900 });
    expect(shares(two, load, near)).toEqual({ a: 500, b: 500 });
    expect(shares([shard('a', {}, of('1000')), shard('b', {}, of('3000'))], load, near)).toEqual({ b: 1000 });
    // Without a capacity it counts like the largest other shard.
    const third = [shard('a', {}, of('1000')), shard('b'), shard('c', {}, of('3000'))];
    expect(shares(third, state([], { a: 300, b: 700, c: 200 }), near)).toEqual({ b: 1000 });
    expect(shares(third, state([], { a: 300, b: 1000, c: 200 }), near)).toMatchObject({ a: expect.any(Number) });
  });

  test('has to match like any other', () => {
    const selector = shardSelector({ matchLabels: { region: 'eu' } });
    expect(shares([shard('a', { region: 'eu' }), shard('b')], state(), { ...near, selector })).toEqual({ a: 1000 });
    expect(shares(two, state(['b']), near)).toEqual({ a: 1000 });
    expect(shares([shard('a'), shard('b', {}, { [unschedulableAnnotation]: '' })], state(), near)).toEqual({ a: 1000 });
    const full = [shard('a'), shard('b', {}, { [capacityAnnotation]: '10' })];
    expect(shares(full, state([], { b: 10 }), near)).toEqual({ a: 1000 });
    expect(shares([shard('a')], state(), near)).toEqual({ a: 1000 });
  });

  test('of one large tree overflows to the others, even if loads arrive late, and no empty shard gets more than its share', () => {
    const holds: Record<string, number> = { a: 0, b: 0 };
    const reportEvery = 1_000;
    let seed = 1;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    /** Creates workspaces with parents on `b`; loads are reported after each thousand. */
    const grow = (thousands: number): Record<string, number> => {
      const before = { ...holds };
      for (let i = 0; i < thousands; i++) {
        const reported = state([], { ...holds });
        for (let j = 0; j < reportEvery; j++) {
          const name = chooseShard(
            Object.keys(holds).map((each) => shard(each)),
            { selector: everything, ...near },
            reported,
            random,
          )?.metadata.name as string;
          holds[name] = (holds[name] as number) + 1;
        }
      }
      return Object.fromEntries(Object.entries(holds).map(([name, count]) => [name, count - (before[name] ?? 0)]));
    };
    const above = (): number => {
      const all = Object.values(holds);
      return (holds['b'] as number) - (1.25 * all.reduce((sum, each) => sum + each)) / all.length - 100;
    };
    for (let i = 0; i < 20; i++) {
      grow(1);
      expect(above()).toBeLessThan(reportEvery);
    }
    expect(above()).toBeGreaterThan(-reportEvery);
    holds['c'] = 0;
    const spread = grow(3);
    for (const name of ['a', 'b', 'c']) {
      expect(spread[name]).toBeGreaterThan(900);
      expect(spread[name]).toBeLessThan(1100);
    }
    grow(40);
    expect(Math.abs(above())).toBeLessThan(reportEvery);
  });
});

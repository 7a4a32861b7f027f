import { describe, expect, test } from '@jest/globals';
import { formatMicroTime, type KubeObject } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource } from '@multiplane/client';
import { loadAnnotation, shardLeaseReference, type Lease } from './kinds.ts';
import { ShardHealth } from './shard-health.ts';
import { FakeClock } from '@multiplane/testing';

/** Leases as they come in, without a server. */
class Leases {
  readonly #clock: FakeClock;
  readonly #leases = new Map<string, Lease>();
  #handlers: InformerHandlers = {};
  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly informers: InformerSource = {
    informer: <T extends KubeObject>() =>
      ({
        addHandlers: (handlers: InformerHandlers) => {
          this.#handlers = handlers;
          return () => {};
        },
      }) as unknown as Informer<T>,
  };

  renew(shard: string, load = 0, ageMs = 0): void {
    const reference = shardLeaseReference(shard);
    const old = this.#leases.get(shard);
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: reference.name, annotations: { [loadAnnotation]: String(load) } },
      spec: { renewTime: formatMicroTime(new Date(this.#clock.now() - ageMs)) },
    };
    this.#leases.set(shard, lease);
    if (old === undefined) this.#handlers.added?.(lease, reference);
    else this.#handlers.updated?.(lease, old, reference);
  }
}

function setUp(ownShard = 'root') {
  const clock = new FakeClock();
  const leases = new Leases(clock);
  const health = new ShardHealth(
    { ownShard, rootShard: 'root', expireAfterMs: 20_000 },
    { informers: leases.informers, clock },
  );
  const notifications: number[] = [];
  health.onAvailable(() => notifications.push(clock.monotonic()));
  return { clock, leases, health, notifications };
}

describe('a shard', () => {
  test('is alive while its Lease is renewed, and again after a renewal', async () => {
    const { clock, leases, health, notifications } = setUp();
    leases.renew('a', 7);
    await clock.advance(15_000);
    leases.renew('a', 7);
    await clock.advance(15_000);
    expect([health.isAlive('a'), health.load('a')]).toEqual([true, 7]);
    await clock.advance(6_000);
    expect(health.isAlive('a')).toBe(false);
    expect(notifications).toEqual([]);
    leases.renew('a', 7);
    expect([health.isAlive('a'), notifications.length]).toEqual([true, 1]);
  });

  test('notifies when its load decreases', () => {
    const { leases, notifications } = setUp();
    for (const load of [10, 11, 9]) leases.renew('a', load);
    expect(notifications.length).toBe(1);
  });

  test('is dead if its Lease is old when first observed, beyond the tolerated clock skew', () => {
    const { leases, health } = setUp();
    leases.renew('dead', 0, 10 * 60_000);
    leases.renew('behind', 0, 60_000);
    expect([health.isAlive('dead'), health.isAlive('behind'), health.isAlive('without-lease')]).toEqual([
      false,
      true,
      true,
    ]);
    leases.renew('dead', 0, 10 * 60_000 - 1);
    expect(health.isAlive('dead')).toBe(true);
  });

  test('is alive to itself, whatever its Lease says', async () => {
    const { clock, leases, health } = setUp('a');
    leases.renew('a');
    await clock.advance(60_000);
    expect(health.isAlive('a')).toBe(true);
  });

  test('counts as alive while the Lease of the root shard is expired', async () => {
    const { clock, leases, health } = setUp('a');
    for (const name of ['root', 'a', 'b']) leases.renew(name);
    await clock.advance(30_000);
    expect([health.isAlive('root'), health.isAlive('b')]).toEqual([false, true]);
    leases.renew('root');
    expect([health.isAlive('root'), health.isAlive('b')]).toEqual([true, false]);
  });
});

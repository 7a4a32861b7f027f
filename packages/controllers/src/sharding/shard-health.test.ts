import { describe, expect, test } from '@jest/globals';
import { formatMicroTime, type KubeObject } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource } from '@multiplane/client';
import { FakeClock } from '@multiplane/component-base';
import { loadAnnotation, shardLeaseReference, type Lease } from './kinds.ts';
import { ShardHealth } from './shard-health.ts';

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
    { ownShard, rootShard: 'root', silentAfterMs: 20_000 },
    { informers: leases.informers, clock },
  );
  const reliefs: number[] = [];
  health.onRelief(() => reliefs.push(clock.monotonic()));
  return { clock, leases, health, reliefs };
}

describe('a shard', () => {
  test('lives as long as its lease is renewed, and again when it is', async () => {
    const { clock, leases, health, reliefs } = setUp();
    leases.renew('a', 7);
    await clock.advance(15_000);
    leases.renew('a', 7);
    await clock.advance(15_000);
    expect([health.isAlive('a'), health.load('a')]).toEqual([true, 7]);
    await clock.advance(6_000);
    expect(health.isAlive('a')).toBe(false);
    expect(reliefs).toEqual([]);
    leases.renew('a', 7);
    expect([health.isAlive('a'), reliefs.length]).toEqual([true, 1]);
  });

  test('that became emptier is worth another try', () => {
    const { leases, reliefs } = setUp();
    for (const load of [10, 11, 9]) leases.renew('a', load);
    expect(reliefs.length).toBe(1);
  });

  test('is dead already when its lease is old at first sight, not when clocks differ a little', () => {
    const { leases, health } = setUp();
    leases.renew('dead', 0, 10 * 60_000);
    leases.renew('behind', 0, 60_000);
    expect([health.isAlive('dead'), health.isAlive('behind'), health.isAlive('never-heard-of')]).toEqual([
      false,
      true,
      true,
    ]);
    leases.renew('dead', 0, 10 * 60_000 - 1);
    expect(health.isAlive('dead')).toBe(true);
  });

  test('is itself alive, whatever its lease says', async () => {
    const { clock, leases, health } = setUp('a');
    leases.renew('a');
    await clock.advance(60_000);
    expect(health.isAlive('a')).toBe(true);
  });

  test('counts as alive while the root shard, which keeps the leases, is silent itself', async () => {
    const { clock, leases, health } = setUp('a');
    for (const name of ['root', 'a', 'b']) leases.renew(name);
    await clock.advance(30_000);
    expect([health.isAlive('root'), health.isAlive('b')]).toEqual([false, true]);
    leases.renew('root');
    expect([health.isAlive('root'), health.isAlive('b')]).toEqual([true, false]);
  });
});

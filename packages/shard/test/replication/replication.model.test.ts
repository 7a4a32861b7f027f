import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ObjectMeta } from '@multiplane/apimachinery';
import { isStorageError } from '@multiplane/storage';
import { nextTurn } from './test-support/publisher.ts';
import {
  clusterRoles,
  logicalClusters,
  policies,
  ReplicatedWorld,
  type Place,
} from './test-support/replicated-world.ts';
import type { Fate } from './test-support/shared-store.ts';

/*
 * The invariant of replication (see replication-controller.ts) under whatever happens: once writes rest, the cache is the
 * union of what the shards share. Objects come, change, are marked, held and go; processes are killed between any two
 * turns of the event loop and started again, two at a time for one shard; writes are refused, late, or done without an
 * answer; processes hear nothing of their shard for a while; replicas are changed by strangers; the whole store is lost.
 */

const shards = ['east', 'west'] as const;
const shard = fc.constantFrom(...shards);
const place: fc.Arbitrary<Place> = fc.record({
  kind: fc.constantFrom(policies, clusterRoles),
  cluster: fc.constantFrom('a', 'b', 'system:admin'),
  name: fc.constantFrom('x', 'y'),
});
const clusterPlace: fc.Arbitrary<Place> = fc.record({
  kind: fc.constant(logicalClusters),
  cluster: fc.constantFrom('a', 'b'),
  name: fc.constant('cluster'),
});
const metadata = fc.constantFrom<Partial<ObjectMeta>[]>(
  {},
  { annotations: { 'internal.kcp.io/replicate': 'core.kcp.io' } },
  { annotations: { 'internal.kcp.io/replicate': '' } },
  { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] },
  { deletionTimestamp: '2026-01-01T00:00:00Z' },
);
const fates: fc.Arbitrary<Fate[]> = fc.array(fc.constantFrom('done', 'refused', 'unanswered', 'late'), {
  maxLength: 6,
});
const process = fc.constantFrom('p', 'q');

type Step = (world: ReplicatedWorld) => Promise<void>;
const step: fc.Arbitrary<readonly [string, Step]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(shard, fc.oneof({ weight: 3, arbitrary: place }, clusterPlace), metadata, fc.nat(3))
      .map(
        ([at, what, meta, content]) =>
          [
            `put ${at} ${what.kind.resource} ${what.cluster} ${what.name} ${JSON.stringify(meta)} ${content}`,
            (world: ReplicatedWorld) => world.put(at, what, meta, content),
          ] as const,
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(shard, fc.oneof({ weight: 3, arbitrary: place }, clusterPlace))
      .map(
        ([at, what]) =>
          [
            `remove ${at} ${what.kind.resource} ${what.cluster} ${what.name}`,
            (world: ReplicatedWorld) => world.remove(at, what),
          ] as const,
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(shard, process, fates)
      .map(
        ([at, name, writes]) =>
          [`start ${at}/${name} ${writes.join()}`, (world: ReplicatedWorld) => world.start(at, name, writes)] as const,
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(shard, process)
      .map(([at, name]) => [`kill ${at}/${name}`, async (world: ReplicatedWorld) => world.kill(at, name)] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(shard, process)
      .map(([at, name]) => [`pause ${at}/${name}`, async (world: ReplicatedWorld) => world.pause(at, name)] as const),
  },
  {
    weight: 1,
    arbitrary: fc.constant(['resume all', async (world: ReplicatedWorld) => world.resumeAll()] as const),
  },
  {
    weight: 1,
    arbitrary: fc.constant(['lose the store', async (world: ReplicatedWorld) => world.shared.lose()] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(7), fc.boolean())
      .map(
        ([index, remove]) =>
          [
            `a stranger ${remove ? 'removes' : 'changes'} replica ${index}`,
            (world: ReplicatedWorld) => disturb(world, index, remove),
          ] as const,
      ),
  },
  {
    weight: 4,
    arbitrary: fc.nat(6).map(
      (turns) =>
        [
          `${turns} turns`,
          async () => {
            for (let turn = 0; turn < turns; turn++) await nextTurn();
          },
        ] as const,
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(30, 1_500)
      .map((ms) => [`${ms} ms`, (world: ReplicatedWorld) => world.clock.advance(ms)] as const),
  },
);

async function disturb(world: ReplicatedWorld, index: number, remove: boolean): Promise<void> {
  const { items } = await world.shared.list('/cache/');
  const item = items[index % Math.max(1, items.length)];
  if (item === undefined) return;
  try {
    if (remove) await world.shared.delete(item.key, item.revision);
    else await world.shared.update(item.key, Buffer.from('{"kind":"Stranger"}'), item.revision);
  } catch (error) {
    // A publisher was faster: the stranger gives up.
    if (!isStorageError(error, 'RevisionConflict')) throw error;
  }
}

/** Which version of its original a replica shows; undefined for what a stranger wrote. */
function originalVersionOf(value: Buffer): number | undefined {
  const { metadata } = JSON.parse(value.toString()) as { metadata?: { annotations?: Record<string, string> } };
  const version = metadata?.annotations?.['cache.kcp.io/original-resource-version'];
  return version === undefined ? undefined : Number(version);
}

test('the cache is the union of what the shards share, whatever happened before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const world = new ReplicatedWorld(shards);
      const newest = new Map<string, number>();
      const steppedBack: string[] = [];
      world.shared.onPut = (key, value) => {
        const version = originalVersionOf(value);
        if (version === undefined) return;
        if (version < (newest.get(key) ?? 0)) steppedBack.push(`${key}: ${newest.get(key)} → ${version}`);
        newest.set(key, version);
      };
      try {
        for (const [, run] of steps) await run(world);
        world.resumeAll();
        // Everybody is alive in the end, in one process of each shard at least.
        for (const name of shards) await world.start(name, 'p');
        await world.rest();
        expect(await world.replicas()).toEqual(await world.union());
        // Nobody was ever shown an older state after a newer one.
        expect(steppedBack).toEqual([]);
        // And then it is quiet.
        const { writes } = world.shared;
        await world.clock.advance(3_600_000);
        expect(world.shared.writes).toBe(writes);
      } finally {
        world.killAll();
      }
    }),
    { numRuns: 150 },
  );
}, 120_000);

import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ObjectMeta } from '@multiplane/apimachinery';
import { isStorageError } from '@multiplane/storage';
import { nextMacrotask } from './publisher.ts';
import {
  clusterRoles,
  logicalClusters,
  policies,
  ReplicationHarness,
  type ObjectLocation,
} from './replication-harness.ts';
import type { WriteOutcome } from './lossy-storage.ts';

/*
 * Property test of the replication invariant (see replication-controller.ts): once writes settle, the cache is the union of
 * the replicated objects of all shards. Steps: objects are created, changed, annotated, held by finalizers and deleted;
 * processes are killed between any two ticks of the event loop and restarted, up to two per shard; writes fail, are late, or
 * succeed without a response; watch events are delayed; other writers change cached objects; the storage loses all data.
 */

const shards = ['east', 'west'] as const;
const shard = fc.constantFrom(...shards);
const place: fc.Arbitrary<ObjectLocation> = fc.record({
  kind: fc.constantFrom(policies, clusterRoles),
  cluster: fc.constantFrom('a', 'b', 'system:admin'),
  name: fc.constantFrom('x', 'y'),
});
const clusterPlace: fc.Arbitrary<ObjectLocation> = fc.record({
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
const outcomes: fc.Arbitrary<WriteOutcome[]> = fc.array(fc.constantFrom('done', 'refused', 'unanswered', 'late'), {
  maxLength: 6,
});
const process = fc.constantFrom('p', 'q');

type Step = (harness: ReplicationHarness) => Promise<void>;
const step: fc.Arbitrary<readonly [string, Step]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(shard, fc.oneof({ weight: 3, arbitrary: place }, clusterPlace), metadata, fc.nat(3))
      .map(
        ([at, what, meta, content]) =>
          [
            `put ${at} ${what.kind.resource} ${what.cluster} ${what.name} ${JSON.stringify(meta)} ${content}`,
            (harness: ReplicationHarness) => harness.put(at, what, meta, content),
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
            (harness: ReplicationHarness) => harness.remove(at, what),
          ] as const,
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(shard, process, outcomes)
      .map(
        ([at, name, writes]) =>
          [
            `start ${at}/${name} ${writes.join()}`,
            (harness: ReplicationHarness) => harness.start(at, name, writes),
          ] as const,
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(shard, process)
      .map(
        ([at, name]) => [`kill ${at}/${name}`, async (harness: ReplicationHarness) => harness.kill(at, name)] as const,
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(shard, process)
      .map(
        ([at, name]) =>
          [`pause ${at}/${name}`, async (harness: ReplicationHarness) => harness.pause(at, name)] as const,
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constant(['resume all', async (harness: ReplicationHarness) => harness.resumeAll()] as const),
  },
  {
    weight: 1,
    arbitrary: fc.constant(['lose the store', async (harness: ReplicationHarness) => harness.shared.lose()] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(7), fc.boolean())
      .map(
        ([index, remove]) =>
          [
            `another writer ${remove ? 'deletes' : 'changes'} cached object ${index}`,
            (harness: ReplicationHarness) => disturb(harness, index, remove),
          ] as const,
      ),
  },
  {
    weight: 4,
    arbitrary: fc.nat(6).map(
      (ticks) =>
        [
          `${ticks} ticks`,
          async () => {
            for (let tick = 0; tick < ticks; tick++) await nextMacrotask();
          },
        ] as const,
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(30, 1_500)
      .map((ms) => [`${ms} ms`, (harness: ReplicationHarness) => harness.clock.advance(ms)] as const),
  },
);

async function disturb(harness: ReplicationHarness, index: number, remove: boolean): Promise<void> {
  const { items } = await harness.shared.list('/cache/');
  const item = items[index % Math.max(1, items.length)];
  if (item === undefined) return;
  try {
    if (remove) await harness.shared.delete(item.key, item.revision);
    else await harness.shared.update(item.key, Buffer.from('{"kind":"Other"}'), item.revision);
  } catch (error) {
    // A publisher wrote first: the other writer gives up.
    if (!isStorageError(error, 'RevisionConflict')) throw error;
  }
}

/** The resource version of the original in a cached object; undefined for values of the other writer. */
function originalVersionOf(value: Buffer): number | undefined {
  const { metadata } = JSON.parse(value.toString()) as { metadata?: { annotations?: Record<string, string> } };
  const version = metadata?.annotations?.['cache.kcp.io/original-resource-version'];
  return version === undefined ? undefined : Number(version);
}

test('the cache converges to the union of the replicated objects of all shards', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const harness = new ReplicationHarness(shards);
      const newest = new Map<string, number>();
      const regressions: string[] = [];
      harness.shared.onPut = (key, value) => {
        const version = originalVersionOf(value);
        if (version === undefined) return;
        if (version < (newest.get(key) ?? 0)) regressions.push(`${key}: ${newest.get(key)} → ${version}`);
        newest.set(key, version);
      };
      try {
        for (const [, run] of steps) await run(harness);
        harness.resumeAll();
        // At least one process of each shard runs in the end.
        for (const name of shards) await harness.start(name, 'p');
        await harness.settle();
        expect(await harness.cachedObjects()).toEqual(await harness.expectedObjects());
        // No reader ever sees an older state after a newer one.
        expect(regressions).toEqual([]);
        // Without changes there are no further writes.
        const { writes } = harness.shared;
        await harness.clock.advance(3_600_000);
        expect(harness.shared.writes).toBe(writes);
      } finally {
        harness.killAll();
      }
    }),
    { numRuns: 150 },
  );
}, 120_000);

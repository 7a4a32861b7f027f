import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { asLogicalClusterName } from '@multiplane/apimachinery';
import { limitNames, type DefaultLimits } from '@multiplane/apis';
import type { Reserved, WriteRequest } from '@multiplane/apiserver';
import { systemClock } from '@multiplane/component-base';
import { ClusterUsage } from '@multiplane/storage';
import { StorageLimits } from './storage-limits.ts';
import { WorkspaceLimits } from './workspace-limits.ts';

const full = asLogicalClusterName('full');
const keyOf = (name: string): string => `/registry/core/configmaps/full/default/${name}`;
const request = {
  cluster: full,
  user: { name: 'tenant' },
  definition: { group: '', resource: 'configmaps' },
} as unknown as WriteRequest;

test('before a refusal the count is made as fresh as a consistent read', async () => {
  const usage = new ClusterUsage({ classes: new Map() }, { clock: systemClock });
  const stored = ['a', 'b'].map((name) => ({ key: keyOf(name), length: 10, revision: 1 }));
  usage.replaced((from) => stored.filter(({ key }) => key >= from));
  await usage.counted;
  const defaults = Object.fromEntries(limitNames.map((name) => [name, Infinity])) as DefaultLimits;
  const annotations = { 'core.kcp.io/max-total-objects': '2' };
  const logicalCluster = {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations },
  };
  let requests = 0;
  /** What the watch delivers until the consistent read returns. */
  let onTheWay = (): void => undefined;
  const cache = {
    isFresh: false,
    freshRevision: async () => {
      requests++;
      await Promise.resolve();
      onTheWay();
      return 2;
    },
  };
  const limits = new WorkspaceLimits({ defaults }, { clusters: { object: () => logicalCluster } });
  const storageLimits = new StorageLimits({ usage, limits, cache });
  const reserve = async (name: string): Promise<Reserved> =>
    await storageLimits.reserve(request, { key: keyOf(name), bytes: 10, oldBytes: undefined });

  await expect(reserve('c')).rejects.toMatchObject({ code: 403 });
  // The delete of `a` was acknowledged, and its event is on the way.
  onTheWay = () => {
    usage.changed(undefined, stored[0], true);
    onTheWay = () => undefined;
  };
  const answers = await Promise.allSettled([reserve('c'), reserve('d')]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(requests).toBe(3);
  expect(usage.charged(full, 'objects')).toBe(2);

  cache.isFresh = true;
  expect(() => storageLimits.reserve(request, { key: keyOf('e'), bytes: 10, oldBytes: undefined })).toThrow(
    'has reached its total object count limit',
  );
  expect(requests).toBe(3);
});

/** A replica of a shard, whose watch delivers writes when the test says so. */
class Replica {
  readonly usage = new ClusterUsage({ classes: new Map() }, { clock: systemClock });
  readonly limits: StorageLimits;
  observed = 0;

  constructor(maxObjects: number) {
    this.usage.replaced(() => []);
    const defaults = Object.fromEntries(limitNames.map((name) => [name, Infinity])) as DefaultLimits;
    const annotations = { 'core.kcp.io/max-total-objects': String(maxObjects) };
    const logicalCluster = {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: { name: 'cluster', annotations },
    };
    this.limits = new StorageLimits({
      usage: this.usage,
      limits: new WorkspaceLimits({ defaults }, { clusters: { object: () => logicalCluster } }),
      cache: { isFresh: true, freshRevision: () => Promise.resolve(0) },
    });
  }

  isAccepted(name: string): boolean {
    try {
      void this.limits.reserve(request, { key: keyOf(name), bytes: 10, oldBytes: undefined });
      return true;
    } catch {
      return false;
    }
  }
}

// docs/adr/0110-limits-of-workspaces.md states this bound.
test('replicas exceed a limit together by at most the writes of the others that they have not observed', async () => {
  const actions = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.boolean()), { maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), actions, async (max, steps) => {
      const replicas = Array.from({ length: 3 }, () => new Replica(max));
      for (const { usage } of replicas) await usage.counted;
      const written: { readonly by: Replica; readonly key: string }[] = [];
      const observe = (replica: Replica): void => {
        const next = written[replica.observed];
        if (next === undefined) return;
        replica.observed++;
        replica.usage.changed({ key: next.key, length: 10, revision: replica.observed }, undefined, true);
      };
      for (const [index, isWrite] of steps) {
        const replica = replicas[index] as Replica;
        if (!isWrite) observe(replica);
        else if (replica.isAccepted(`o${written.length}`)) {
          written.push({ by: replica, key: keyOf(`o${written.length}`) });
          const unobserved = written.slice(replica.observed).filter(({ by }) => by !== replica).length;
          expect(written.length).toBeLessThanOrEqual(max + unobserved);
          // So never more than what all replicas together accept on their own.
          expect(written.length).toBeLessThanOrEqual(max * replicas.length);
        }
      }
      for (const replica of replicas) {
        while (replica.observed < written.length) observe(replica);
        expect(replica.usage.charged(full, 'objects')).toBe(written.length);
        expect(replica.isAccepted('late')).toBe(written.length < max);
      }
    }),
  );
});

test('the bound is reached: replicas that observe nothing each accept the whole limit', async () => {
  const replicas = [new Replica(5), new Replica(5)];
  for (const { usage } of replicas) await usage.counted;
  const accepted = replicas.map(
    (replica, at) => Array.from({ length: 9 }, (_, i) => replica.isAccepted(`${at}-${i}`)).filter(Boolean).length,
  );
  expect(accepted).toEqual([5, 5]);
});

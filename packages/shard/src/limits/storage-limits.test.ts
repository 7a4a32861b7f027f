import { expect, test } from '@jest/globals';
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

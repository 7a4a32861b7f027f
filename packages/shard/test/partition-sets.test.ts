import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { shards } from '@multiplane/controllers';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const topology = (resource: string): GroupVersionResource => ({
  group: 'topology.kcp.io',
  version: 'v1alpha1',
  resource,
});
const partitions = topology('partitions');
const partitionSets = topology('partitionsets');

let shard: InProcessShard;
beforeAll(async () => {
  shard = await InProcessShard.start();
}, 120_000);
afterAll(async () => {
  await shard?.[Symbol.asyncDispose]();
});

const partitionSet = (name: string, spec: object): KubeObject => ({
  apiVersion: 'topology.kcp.io/v1alpha1',
  kind: 'PartitionSet',
  metadata: { name },
  spec,
});
const addShard = (name: string, labels: Record<string, string>): Promise<unknown> =>
  shard.client.create(shards, root, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'Shard',
    metadata: { name, labels },
    spec: { baseURL: `https://${name}.example` },
  });
async function partitionsOfRegions(): Promise<string[]> {
  const { items } = await shard.client.list(partitions, { cluster: root });
  return items
    .flatMap((item) => {
      const { selector } = item['spec'] as { selector: { matchLabels: Record<string, string> } };
      return selector.matchLabels['region'] ?? [];
    })
    .toSorted();
}

test('partitions are created and deleted with shards and with their PartitionSet', async () => {
  await addShard('east', { region: 'east' });
  await addShard('east-2', { region: 'east' });
  await addShard('west', { region: 'west' });
  await shard.client.create(partitionSets, root, partitionSet('regions', { dimensions: ['region'] }));
  await eventually(async () => expect(await partitionsOfRegions()).toEqual(['east', 'west']));
  await eventually(async () =>
    expect(await shard.client.get(partitionSets, { cluster: root, namespace: '', name: 'regions' })).toMatchObject({
      status: {
        count: 2,
        conditions: [
          { type: 'PartitionSetValid', status: 'True' },
          { type: 'PartitionsReady', status: 'True' },
        ],
      },
    }),
  );

  await addShard('north', { region: 'north' });
  await shard.client.delete(shards, { cluster: root, namespace: '', name: 'west' });
  await eventually(async () => expect(await partitionsOfRegions()).toEqual(['east', 'north']));

  await shard.client.delete(partitionSets, { cluster: root, namespace: '', name: 'regions' });
  await eventually(async () => expect(await partitionsOfRegions()).toEqual([]));
}, 120_000);

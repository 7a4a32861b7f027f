import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { effectiveLimits, limitNames, type DefaultLimits } from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import type { Controller } from '../runtime/controller.ts';
import { logicalClusters, workspaces } from './kinds.ts';
import { workspaceLimitsController } from './workspace-limits-controller.ts';

const parent = 'parent' as LogicalClusterName;
const objects = 'core.kcp.io/max-total-objects';
const inherited = 'internal.limits.multiplane.dev/inherited';
const applied = 'internal.limits.multiplane.dev/applied';
const defaults = Object.fromEntries(limitNames.map((name) => [name, 100])) as DefaultLimits;

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;
/** What was written to LogicalClusters: shard, cluster, annotations. */
let writes: [string, string, JsonObject][];
let isAlive: boolean;

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  writes = [];
  isAlive = true;
});
afterEach(() => controller.stop());

const annotationsOf = (object: KubeObject | undefined): Record<string, string> => object?.metadata.annotations ?? {};

async function start(): Promise<void> {
  controller = workspaceLimitsController(
    { shardName: 'here' },
    {
      informers: api.informers,
      client: api.client,
      clock,
      logger: silentLogger,
      health: { isAlive: () => isAlive },
      limitsOfParent: (cluster) => {
        const object = api.all(logicalClusters, cluster)[0];
        if (object === undefined) return undefined;
        return { path: `root:${cluster}`, limits: effectiveLimits(annotationsOf(object), defaults, false) };
      },
      logicalClusters: {
        cached: (shard, cluster) => (shard === 'here' ? api.all(logicalClusters, cluster)[0] : undefined),
        annotate: async (shard, cluster, patch) => {
          const annotations = (patch['metadata'] as JsonObject)['annotations'] as JsonObject;
          writes.push([shard, cluster, annotations]);
          const object = api.all(logicalClusters, cluster)[0];
          if (shard !== 'here' || object === undefined) return;
          const all = Object.entries({ ...annotationsOf(object), ...annotations }).filter(
            ([, value]) => value !== null,
          );
          const metadata = { ...object.metadata, annotations: Object.fromEntries(all) as Record<string, string> };
          api.put(logicalClusters, cluster, { ...object, metadata });
        },
      },
    },
  );
  await controller.start();
}

const putParent = (annotations: JsonObject): void =>
  void api.put(logicalClusters, parent, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations: annotations as Record<string, string> },
  });
const putChild = (name: string, annotations: JsonObject = {}): void =>
  void api.put(workspaces, parent, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name, annotations: annotations as Record<string, string> },
    spec: { cluster: `c-${name}` },
  });
const child = (name: string): KubeObject | undefined =>
  api.all(workspaces, parent).find(({ metadata }) => metadata.name === name);

test('limits of the parent reach every child, on its shard, and are taken back', async () => {
  putParent({});
  putChild('near');
  putChild('far', { 'core.kcp.io/shard': 'there' });
  await start();
  await clock.advance(1_000);
  expect(writes).toEqual([]);
  putParent({ [objects]: '40' });
  const text = '{"objects":{"max":40}}';
  await clock.advance(0);
  expect(writes).toContainEqual(['here', 'c-near', { [inherited]: text }]);
  expect(writes).toContainEqual(['there', 'c-far', { [inherited]: text }]);
  for (const name of ['near', 'far']) expect(annotationsOf(child(name))[applied]).toBe(text);
  putParent({});
  await clock.advance(0);
  expect(writes).toHaveLength(4);
  for (const name of ['near', 'far']) expect(annotationsOf(child(name))).not.toHaveProperty([applied]);
});

test('the own setting of a child is written once, and again only when it changes', async () => {
  putParent({});
  putChild('one', { [objects]: '7' });
  await start();
  const text = '{"objects":{"max":7,"by":"root:parent"}}';
  await clock.advance(0);
  expect(annotationsOf(child('one'))[applied]).toBe(text);
  expect(writes).toEqual([['here', 'c-one', { [inherited]: text }]]);
  putChild('one', { [objects]: '7', [applied]: text, other: 'x' });
  putChild('one', { [objects]: '8', [applied]: text });
  await clock.advance(0);
  expect(writes).toHaveLength(2);
  expect(writes[1]?.[2]).toEqual({ [inherited]: '{"objects":{"max":8,"by":"root:parent"}}' });
});

test('a LogicalCluster that was restored with other limits gets those of its parent', async () => {
  putParent({});
  api.put(logicalClusters, 'c-one' as LogicalClusterName, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations: { [inherited]: '{"objects":{"max":9999}}' } },
  });
  putChild('one');
  await start();
  await clock.advance(0);
  expect(writes).toEqual([['here', 'c-one', { [inherited]: null }]]);
});

test('a shard that is not alive gets its limits later', async () => {
  isAlive = false;
  putParent({ [objects]: '40' });
  putChild('far', { 'core.kcp.io/shard': 'there' });
  await start();
  await clock.advance(1_000);
  expect(writes).toEqual([]);
  isAlive = true;
  await clock.advance(5_000);
  expect(writes).toHaveLength(1);
});

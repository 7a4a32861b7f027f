import { beforeEach, expect, test } from '@jest/globals';
import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, ObjectReference } from '@multiplane/client';
import { MetricsRegistry } from '@multiplane/component-base';
import { usageMetrics } from './usage-metrics.ts';
import { FakeClock } from '@multiplane/testing';

let registry: MetricsRegistry;
let clock: FakeClock;
/** By resource. */
let followers: Map<string, InformerHandlers>;

const created = '2026-01-01T00:00:00Z';
const reference: ObjectReference = { cluster: 'c' as LogicalClusterName, namespace: '', name: 'n' };
const object = (status?: object): DeepReadonly<KubeObject> => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: { name: 'n', creationTimestamp: created },
  ...(status === undefined ? {} : { status }),
});
const bound = (...types: string[]): object => ({
  phase: 'Bound',
  conditions: types.map((type) => ({ type, status: 'True' })),
});

beforeEach(() => {
  registry = new MetricsRegistry();
  clock = new FakeClock(Date.parse(created));
  followers = new Map();
  const informer = ({ resource }: GroupVersionResource): Informer => {
    const later: InformerHandlers[] = [];
    return {
      addHandlers: (handlers: InformerHandlers) => {
        const all = [followers.get(resource), handlers, ...later].filter((one) => one !== undefined);
        followers.set(resource, {
          added: (...given) => all.forEach((one) => one.added?.(...given)),
          updated: (...given) => all.forEach((one) => one.updated?.(...given)),
          deleted: (...given) => all.forEach((one) => one.deleted?.(...given)),
          synced: () => all.forEach((one) => one.synced?.()),
        });
        return () => undefined;
      },
    } as unknown as Informer;
  };
  usageMetrics({ shardName: 'east' }, { registry, clock, informers: { informer: informer as never } });
});

const on = (resource: string): Required<InformerHandlers> => followers.get(resource) as Required<InformerHandlers>;
/** Lines of a metric, without its name. */
const lines = async (name: string): Promise<string[]> =>
  (await registry.render())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => line.slice(name.length));

test('counts logical clusters and workspaces by phase, those without a phase as Scheduling', async () => {
  const clusters = on('logicalclusters');
  clusters.added(object(), reference);
  clusters.added(object({ phase: 'Initializing' }), reference);
  clusters.updated(object({ phase: 'Ready' }), object({ phase: 'Initializing' }), reference);
  clusters.added(object({ phase: 'Ready' }), reference);
  clusters.deleted(object({ phase: 'Ready' }), reference);
  expect(await lines('kcp_logicalcluster_count')).toEqual([
    '{shard="east",phase="Scheduling"} 1',
    '{shard="east",phase="Initializing"} 0',
    '{shard="east",phase="Ready"} 1',
    '{shard="east",phase="Unavailable"} 0',
    '{shard="east",phase="Inactive"} 0',
    '{shard="east",phase="Terminating"} 0',
    '{shard="east",phase="Deleting"} 0',
  ]);
  expect(await lines('kcp_workspace_count')).toHaveLength(7);
});

test('counts APIBindings by phase and condition', async () => {
  const bindings = on('apibindings');
  bindings.added(object(), reference);
  bindings.updated(object(bound('APIExportValid')), object(), reference);
  bindings.added(object({ phase: 'Binding', conditions: [{ type: 'APIExportValid', status: 'False' }] }), reference);
  expect(await lines('kcp_apibinding_phase')).toEqual([
    '{shard="east",phase=""} 0',
    '{shard="east",phase="Binding"} 1',
    '{shard="east",phase="Bound"} 1',
  ]);
  expect(await lines('kcp_apibinding_condition_status')).toEqual([
    '{shard="east",condition="APIExportValid",status="True"} 1',
    '{shard="east",condition="APIExportValid",status="False"} 1',
  ]);
  bindings.deleted(object(bound('APIExportValid')), reference);
  expect(await lines('kcp_apibinding_condition_status')).toEqual([
    '{shard="east",condition="APIExportValid",status="False"} 1',
  ]);
});

test('bounds the series of condition types', async () => {
  for (let count = 0; count < 500; count++)
    on('apiexports').added(object({ conditions: [{ type: `Type${count}`, status: `Odd${count}` }] }), reference);
  expect((await lines('kcp_apiexport_condition_status')).length).toBeLessThan(100);
});

test('observes the ready duration of an APIBinding once, and not for objects of the initial list', async () => {
  const bindings = on('apibindings');
  const done = object(bound('InitialBindingCompleted'));
  const counted = async (): Promise<(string | undefined)[]> => [
    ...(await lines('kcp_apibinding_ready_duration_ms_count')),
    (await lines('kcp_apibinding_ready_duration_ms_bucket')).find((line) => line.includes('le="5000"')),
  ];
  bindings.added(done, reference);
  bindings.synced();
  await clock.advance(2_000);
  bindings.added(object(), reference);
  bindings.updated(done, object(), reference);
  bindings.updated(object({ ...bound('InitialBindingCompleted'), phase: 'Binding' }), done, reference);
  bindings.updated(done, object({ ...bound('InitialBindingCompleted'), phase: 'Binding' }), reference);
  expect(await counted()).toEqual(['{shard="east"} 1', '{le="5000",shard="east"} 1']);
  // Default bindings are created bound.
  bindings.added(done, reference);
  expect((await counted())[0]).toBe('{shard="east"} 2');
});

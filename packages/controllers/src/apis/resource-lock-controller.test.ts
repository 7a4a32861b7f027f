import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, resourceBindingsAnnotation } from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { crds } from '../apiextensions/crd-names.ts';
import type { Controller } from '../runtime/controller.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import { resourceLockController } from './resource-lock-controller.ts';

const cluster = 'consumer' as LogicalClusterName;
let api: FakeApi;
let clock: FakeClock;
let controller: Controller;
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  controller = resourceLockController({ informers: api.informers, client: api.client, clock, logger: silentLogger });
  void controller.start();
});
afterEach(() => controller.stop());

const logicalCluster = (locks?: string, status: object = { phase: 'Ready' }): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: {
    name: 'cluster',
    ...(locks === undefined ? {} : { annotations: { [resourceBindingsAnnotation]: locks } }),
  },
  status: { ...status },
});
const definition = (plural: string, established: boolean): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.dev` },
  spec: { group: 'example.dev', names: { plural } },
  status: { conditions: [{ type: 'Established', status: established ? 'True' : 'False' }] },
});
const binding = (name: string): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name },
  status: { boundResources: [{ group: 'example.dev', resource: 'widgets', schema: { UID: 'u' } }] },
});
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, [controller]);
const locks = (): string | undefined =>
  api.get(logicalClusters, cluster, 'cluster')?.metadata.annotations?.[resourceBindingsAnnotation];

describe('the locks of a logical cluster', () => {
  test('are written as {} when there are none', async () => {
    api.put(logicalClusters, cluster, logicalCluster());
    await settled();
    expect(locks()).toBe('{}');
  });

  test('without an annotation are those of its bindings and CRDs', async () => {
    api.put(apiBindings, cluster, binding('things'));
    api.put(crds, cluster, definition('gears', true));
    api.put(crds, cluster, definition('late', false));
    api.put(logicalClusters, cluster, logicalCluster());
    await settled();
    expect(locks()).toBe('{"gears.example.dev":{"c":true},"widgets.example.dev":{"n":"things"}}');
  });

  test('are removed with the binding that held them', async () => {
    api.put(apiBindings, cluster, binding('things'));
    api.put(logicalClusters, cluster, logicalCluster('{"widgets.example.dev":{"n":"things"}}'));
    await settled();
    expect(locks()).toBe('{"widgets.example.dev":{"n":"things"}}');
    api.remove(apiBindings, { cluster, namespace: '', name: 'things' });
    await settled();
    expect(locks()).toBe('{}');
  });

  test('of default bindings that are not created yet are kept', async () => {
    const text = '{"widgets.example.dev":{"n":"things"}}';
    api.put(logicalClusters, cluster, logicalCluster(text, {}));
    await settled();
    const initializers = ['system:apibindings'];
    api.put(logicalClusters, cluster, logicalCluster(text, { phase: 'Initializing', initializers }));
    await settled();
    expect(locks()).toBe(text);
    api.put(logicalClusters, cluster, logicalCluster(text));
    await settled();
    expect(locks()).toBe('{}');
  });

  test('of CRDs are added when they are established and removed with them', async () => {
    api.put(logicalClusters, cluster, logicalCluster('{}'));
    api.put(crds, cluster, definition('gears', false));
    await settled();
    expect(locks()).toBe('{}');
    api.put(crds, cluster, definition('gears', true));
    await settled();
    expect(locks()).toBe('{"gears.example.dev":{"c":true}}');
    api.remove(crds, { cluster, namespace: '', name: 'gears.example.dev' });
    await settled();
    expect(locks()).toBe('{}');
  });

  test('of CRDs that are not created expire; those of established ones do not', async () => {
    const e = new Date(clock.now() + 60_000).toISOString();
    api.put(crds, cluster, definition('came', false));
    api.put(
      logicalClusters,
      cluster,
      logicalCluster(JSON.stringify({ 'came.example.dev': { c: true, e }, 'never.example.dev': { c: true, e } })),
    );
    await settled();
    expect(locks()).toBe(`{"came.example.dev":{"c":true},"never.example.dev":{"c":true,"e":"${e}"}}`);
    await clock.advance(61_000);
    expect(locks()).toBe('{"came.example.dev":{"c":true}}');
  });

  test('of a logical cluster that is deleted are not changed', async () => {
    const object = logicalCluster('{"widgets.example.dev":{"n":"things"}}');
    const metadata = { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    api.put(apiBindings, cluster, binding('things'));
    api.put(logicalClusters, cluster, { ...object, metadata });
    api.remove(apiBindings, { cluster, namespace: '', name: 'things' });
    await settled();
    expect(api.writes).toEqual([]);
  });

  test('changed by another writer are corrected', async () => {
    const others = Array.from({ length: 20 }, (_, n) => definition(`other${n}`, true));
    for (const other of [...others, definition('gears', true)]) api.put(crds, cluster, other);
    api.put(apiBindings, cluster, binding('things'));
    api.put(logicalClusters, cluster, logicalCluster());
    await settled();
    const right = locks() as string;
    expect(Object.keys(JSON.parse(right) as object)).toHaveLength(22);
    const all = JSON.parse(right) as Record<string, object>;
    const { 'gears.example.dev': gears, ...without } = all;
    expect(gears).toEqual({ c: true });
    for (const wrong of [
      without,
      { ...all, 'gears.example.dev': {} },
      { ...all, 'gears.example.dev': { c: true, e: new Date(clock.now() + 60_000).toISOString() } },
      { ...all, 'gears.example.dev': { n: 'missing' } },
      { ...all, 'never.example.dev': { c: true } },
      { ...all, 'never.example.dev': 1 },
    ]) {
      api.put(logicalClusters, cluster, logicalCluster(JSON.stringify(wrong)));
      await settled();
      expect(locks()).toBe(right);
    }
  });

  test('of very many CRDs created one after the other are written together', async () => {
    const names = (): string[] => Object.keys(JSON.parse(locks() ?? '{}') as object);
    const come = async (count: number): Promise<void> => {
      // Large logical clusters are reconciled every 250 ms.
      await advanceUntilIdle(clock, 300, [controller]);
      expect(names()).toHaveLength(count);
    };
    for (let n = 0; n < 60; n++) api.put(crds, cluster, definition(`many${n}`, true));
    api.put(logicalClusters, cluster, logicalCluster());
    await come(60);
    const before = api.writes.length;
    for (let n = 0; n < 20; n++) {
      api.put(crds, cluster, definition(`more${n}`, true));
      await clock.advance(20);
    }
    await come(80);
    expect(api.writes.length - before).toBeLessThanOrEqual(4);
    api.remove(crds, { cluster, namespace: '', name: 'many7.example.dev' });
    await come(79);
    expect(names()).not.toContain('many7.example.dev');
  });

  test('that are correct are not written', async () => {
    api.put(apiBindings, cluster, binding('things'));
    api.put(logicalClusters, cluster, logicalCluster('{"widgets.example.dev":{"n":"things"}}'));
    await settled();
    expect(api.writes).toEqual([]);
  });
});

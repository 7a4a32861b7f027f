import { expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { FakeClock, silentLogger } from '@multiplane/component-base';
import { atRest } from '@multiplane/testing';
import { FakeApi } from '../test-support/fake-api.ts';
import { toldLate } from '../test-support/told-late.ts';
import { garbageCollector } from './garbage-collector.ts';

const cluster = 'consumer' as LogicalClusterName;
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const configMap = (name: string, metadata: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', uid: `uid-of-${name}`, ...metadata },
});

test('an owner that orphans, deleted right after a start, waits until its dependents are known', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const { informers, tell } = toldLate(api.informers);
  const controller = garbageCollector({
    informers,
    client: api.client,
    clock,
    logger: silentLogger,
    resourceOfKind: () => ({ resource: configMaps, namespaced: true }),
  });
  await controller.start();
  try {
    const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['orphan'] };
    api.put(configMaps, cluster, configMap('owner', deletion));
    await atRest(clock, 1000, [controller]);
    const get = (name: string) => api.all(configMaps, cluster).find(({ metadata }) => metadata.name === name);
    expect(get('owner')?.metadata.finalizers).toEqual(['orphan']);
    // A little later than the deletion of its owner it is told that this was there.
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'uid-of-owner' };
    api.put(configMaps, cluster, configMap('dependent', { ownerReferences: [owner] }));
    tell();
    await atRest(clock, 1000, [controller]);
    expect(get('dependent')?.metadata.ownerReferences ?? []).toEqual([]);
    expect(get('owner')?.metadata.finalizers ?? []).toEqual([]);
  } finally {
    await controller.stop();
  }
});

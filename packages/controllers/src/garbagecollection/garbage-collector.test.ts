import { expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { delayInitialList } from '../../test/delayed-initial-list.ts';
import { garbageCollector } from './garbage-collector.ts';

const cluster = 'consumer' as LogicalClusterName;
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const configMap = (name: string, metadata: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', uid: `uid-of-${name}`, ...metadata },
});

test('an orphaning owner deleted right after a start waits for the sync of its dependents', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const { informers, deliver } = delayInitialList(api.informers);
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
    await advanceUntilIdle(clock, 1000, [controller]);
    const get = (name: string) => api.all(configMaps, cluster).find(({ metadata }) => metadata.name === name);
    expect(get('owner')?.metadata.finalizers).toEqual(['orphan']);
    // The dependent is delivered after the deletion of its owner.
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'uid-of-owner' };
    api.put(configMaps, cluster, configMap('dependent', { ownerReferences: [owner] }));
    deliver();
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(get('dependent')?.metadata.ownerReferences ?? []).toEqual([]);
    expect(get('owner')?.metadata.finalizers ?? []).toEqual([]);
  } finally {
    await controller.stop();
  }
});

test('an owner whose kind is virtual keeps its dependents, and references to owners that are gone are removed beside it', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const flavors: GroupVersionResource = { group: 'cloud.example.com', version: 'v1', resource: 'flavors' };
  const controller = garbageCollector({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
    resourceOfKind: (_cluster, _apiVersion, kind) =>
      kind === 'Flavor'
        ? { resource: flavors, namespaced: false, isVirtual: true }
        : { resource: configMaps, namespaced: true },
  });
  await controller.start();
  try {
    const flavor = { apiVersion: 'cloud.example.com/v1', kind: 'Flavor', name: 'small', uid: 'uid-of-small' };
    const gone = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'uid-of-gone' };
    api.put(configMaps, cluster, configMap('of-flavor', { ownerReferences: [flavor] }));
    api.put(configMaps, cluster, configMap('of-both', { ownerReferences: [flavor, gone] }));
    api.put(configMaps, cluster, configMap('of-none', { ownerReferences: [gone] }));
    await advanceUntilIdle(clock, 1000, [controller]);
    const left = api.all(configMaps, cluster).map(({ metadata }) => [metadata.name, metadata.ownerReferences]);
    expect(Object.fromEntries(left)).toEqual({ 'of-both': [flavor], 'of-flavor': [flavor] });
  } finally {
    await controller.stop();
  }
});

test('a dependent is collected though the kind of its owner is gone with the owner', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const sheriffs: GroupVersionResource = { group: 'example.com', version: 'v1', resource: 'sheriffs' };
  let isServed = true;
  const controller = garbageCollector({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
    resourceOfKind: (_cluster, _apiVersion, kind) => {
      if (kind !== 'Sheriff') return { resource: configMaps, namespaced: true };
      return isServed ? { resource: sheriffs, namespaced: true } : undefined;
    },
  });
  await controller.start();
  try {
    const owner = { apiVersion: 'example.com/v1', kind: 'Sheriff', name: 'owner', uid: 'uid-of-owner' };
    const metadata = { name: 'owner', namespace: 'default', uid: owner.uid };
    api.put(sheriffs, cluster, { apiVersion: owner.apiVersion, kind: owner.kind, metadata });
    api.put(configMaps, cluster, configMap('dependent', { ownerReferences: [owner] }));
    const elsewhere = { namespace: 'other', ownerReferences: [owner] };
    api.put(configMaps, cluster, configMap('elsewhere', elsewhere));
    isServed = false;
    await advanceUntilIdle(clock, 1000, [controller]);
    const names = (): string[] => api.all(configMaps, cluster).map((object) => object.metadata.name ?? '');
    expect(names().sort()).toEqual(['dependent', 'elsewhere']);
    api.remove(sheriffs, { cluster, ...metadata });
    await advanceUntilIdle(clock, 1000, [controller]);
    // An owner in another namespace is none, so nothing is known of the owner of the other object.
    expect(names()).toEqual(['elsewhere']);
  } finally {
    await controller.stop();
  }
});

test('a solid owner does not block an owner that waits for its dependents', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const controller = garbageCollector({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
    resourceOfKind: () => ({ resource: configMaps, namespaced: true }),
  });
  await controller.start();
  try {
    const owner = (name: string, more: object = {}): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name,
      uid: `uid-of-${name}`,
      ...more,
    });
    const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] };
    const solid = owner('solid');
    api.put(configMaps, cluster, configMap('solid', {}));
    api.put(configMaps, cluster, configMap('waiting', {}));
    api.put(
      configMaps,
      cluster,
      configMap('dependent', { ownerReferences: [owner('waiting', { blockOwnerDeletion: true }), solid] }),
    );
    await advanceUntilIdle(clock, 1000, [controller]);
    api.put(configMaps, cluster, configMap('waiting', deletion));
    await advanceUntilIdle(clock, 1000, [controller]);
    const get = (name: string) => api.all(configMaps, cluster).find(({ metadata }) => metadata.name === name);
    expect(get('dependent')?.metadata.ownerReferences).toEqual([solid]);
    expect(get('waiting')?.metadata.finalizers ?? []).toEqual([]);
  } finally {
    await controller.stop();
  }
});

test('a reference to an owner in another namespace is reported, and the object collected', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const nodes: GroupVersionResource = { group: 'example.com', version: 'v1', resource: 'nodes' };
  const events: GroupVersionResource = { group: '', version: 'v1', resource: 'events' };
  const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };
  const controller = garbageCollector({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
    resourceOfKind: (_cluster, _apiVersion, kind) =>
      kind === 'Node'
        ? { resource: nodes, namespaced: false }
        : { resource: kind === 'Secret' ? secrets : configMaps, namespaced: true },
  });
  await controller.start();
  try {
    const owner = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, uid: `uid-of-${name}` });
    const put = (name: string, metadata: object): void => void api.put(configMaps, cluster, configMap(name, metadata));
    put('elsewhere', { namespace: 'other' });
    put('across', { ownerReferences: [owner('elsewhere')] });
    put('of-another-kind', { ownerReferences: [owner('gone'), { ...owner('elsewhere'), kind: 'Secret', name: 'x' }] });
    put('of-none', { ownerReferences: [owner('missing')] });
    put('owner', {});
    put('child', { ownerReferences: [owner('owner')] });
    api.put(nodes, cluster, {
      apiVersion: 'example.com/v1',
      kind: 'Node',
      metadata: { name: 'wide', uid: 'uid-of-wide', ownerReferences: [owner('owner')] },
    });
    await advanceUntilIdle(clock, 1000, [controller]);
    await api.client.delete(configMaps, { cluster, namespace: 'default', name: 'owner' });
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(api.all(configMaps, cluster).map(({ metadata }) => metadata.name)).toEqual(['elsewhere']);
    expect(api.all(nodes, cluster)).toHaveLength(1);
    expect(
      api
        .all(events, cluster)
        .map(({ metadata, ...event }) => [
          metadata.namespace,
          event['type'],
          event['reason'],
          event['message'],
          (event['involvedObject'] as { name: string }).name,
        ])
        .toSorted((a, b) => (String(a.at(-1)) < String(b.at(-1)) ? -1 : 1)),
    ).toEqual([
      [
        'default',
        'Warning',
        'OwnerRefInvalidNamespace',
        'ownerRef [v1/ConfigMap, namespace: default, name: elsewhere, uid: uid-of-elsewhere] does not exist in namespace "default"',
        'across',
      ],
      [
        'default',
        'Warning',
        'OwnerRefInvalidNamespace',
        'ownerRef [v1/Secret, namespace: default, name: x, uid: uid-of-elsewhere] does not exist in namespace "default"',
        'of-another-kind',
      ],
      [
        'default',
        'Warning',
        'OwnerRefInvalidNamespace',
        'ownerRef [v1/ConfigMap, namespace: , name: owner, uid: uid-of-owner] does not exist in namespace ""',
        'wide',
      ],
    ]);
  } finally {
    await controller.stop();
  }
});

test('an owner in another logical cluster is none, whatever its uid, and its deletion collects nothing here', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const controller = garbageCollector({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
    resourceOfKind: () => ({ resource: configMaps, namespaced: true }),
  });
  await controller.start();
  try {
    const attacker = 'attacker' as LogicalClusterName;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'uid-of-owner', blockOwnerDeletion: true };
    const ownerReferences = [owner];
    // The same name and uid in both; a tenant may set neither, but may name the uid of another tenant's object.
    api.put(configMaps, cluster, configMap('owner', {}));
    api.put(configMaps, cluster, configMap('child', { ownerReferences }));
    api.put(configMaps, attacker, configMap('of-the-victim', { ownerReferences }));
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(api.all(configMaps, attacker)).toEqual([]);
    api.put(configMaps, attacker, configMap('owner', {}));
    await advanceUntilIdle(clock, 1000, [controller]);
    await api.client.delete(configMaps, { cluster: attacker, namespace: 'default', name: 'owner' });
    await advanceUntilIdle(clock, 1000, [controller]);
    expect(api.all(configMaps, cluster).map(({ metadata }) => metadata.name)).toEqual(['owner', 'child']);
  } finally {
    await controller.stop();
  }
});

import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import { type KubeObject, asLogicalClusterName } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import { CompactedError, type Storage, type WatchBatch } from '@multiplane/storage';
import { Pipeline, type PipelineOptions } from '../../test/pipeline.ts';
import { CacheInformerFactory } from './cache-informer-factory.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const maps = '/api/v1/namespaces/default/configmaps';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

let pipeline: Pipeline | undefined;
async function open(options?: PipelineOptions): Promise<{ on: Pipeline; informers: CacheInformerFactory }> {
  pipeline = await Pipeline.open(options);
  const { cache, reader } = pipeline;
  return { on: pipeline, informers: new CacheInformerFactory({ cache, reader, builtIn: builtInResources() }) };
}
afterEach(async () => {
  await pipeline?.close();
});

function record(informers: CacheInformerFactory): string[] {
  const events: string[] = [];
  informers.informer(configMaps).addHandlers({
    added: (object, { cluster, namespace, name }) =>
      events.push(`added ${cluster}|${namespace}/${name} ${object.metadata.resourceVersion}`),
    updated: (object, old) =>
      events.push(`updated ${object.metadata.name} ${old.metadata.resourceVersion}→${object.metadata.resourceVersion}`),
    deleted: (old) => events.push(`deleted ${old.metadata.name}`),
  });
  return events;
}

describe('a lister', () => {
  test('lists objects of a cluster, a namespace, or all', async () => {
    const { on, informers } = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const lister = informers.informer(configMaps);
    expect(lister.get({ cluster: on.cluster, namespace: 'default', name: 'a' })?.kind).toBe('ConfigMap');
    expect(lister.get({ cluster: asLogicalClusterName('other'), namespace: 'default', name: 'a' })).toBeUndefined();
    expect(lister.get({ cluster: on.cluster, namespace: 'default', name: '../default/a' })).toBeUndefined();
    expect(lister.list().length).toBe(1);
    expect(lister.list({ cluster: on.cluster, namespace: 'defaul' })).toEqual([]);
    expect(lister.list({ namespace: 'default' }).length).toBe(1);
  });

  test('returns frozen, shared objects', async () => {
    const { on, informers } = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const reference = { cluster: on.cluster, namespace: 'default', name: 'a' };
    const object = informers.informer(configMaps).get(reference) as KubeObject;
    expect(informers.informer(configMaps).get(reference)).toBe(object);
    expect(() => {
      object.metadata.labels = {};
    }).toThrow(TypeError);
  });
});

describe('handlers', () => {
  test('receive the initial list, then all changes', async () => {
    const { on, informers } = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const events = record(informers);
    await eventLoopIdle();
    await on.must(200, 'PATCH', `${maps}/a`, { data: { k: 'v' } }, mergePatch);
    await on.must(200, 'DELETE', `${maps}/a`);
    await eventLoopIdle();
    expect(events).toEqual([
      expect.stringMatching(/^added root\|default\/a \d+$/),
      expect.stringMatching(/^updated a \d+→\d+$/),
      'deleted a',
    ]);
  });

  test('distinguish the initial list from new objects', async () => {
    const { on, informers } = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'old' } });
    const events: [string, boolean][] = [];
    const stop = informers.informer(configMaps).addHandlers({
      added: (object, _reference, isInInitialList = false) =>
        void events.push([object.metadata.name as string, isInInitialList]),
    });
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'new' } });
    await eventLoopIdle();
    stop();
    expect(events).toEqual([
      ['old', true],
      ['new', false],
    ]);
  });

  test('receive nothing after they were removed', async () => {
    const { on, informers } = await open();
    const events: string[] = [];
    const stop = informers
      .informer(configMaps)
      .addHandlers({ added: (object) => void events.push(object.metadata.name as string) });
    await eventLoopIdle();
    stop();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    await eventLoopIdle();
    expect(events).toEqual([]);
  });

  test('receive missed changes after the history was compacted', async () => {
    let fail: ((error: Error) => void) | undefined;
    let store: Storage | undefined;
    // After the first watch has failed it delivers no more events: the cache must reload.
    const forgetful = (memory: Storage): Storage => {
      store = memory;
      return new Proxy(memory, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          if (name !== 'watch' || fail !== undefined) return value.bind(target) as unknown;
          return async function* (...parameters: Parameters<Storage['watch']>): AsyncGenerator<WatchBatch> {
            const failure = new Promise<never>((_resolve, reject) => {
              fail = reject;
            });
            const batches = target.watch(...parameters)[Symbol.asyncIterator]();
            for (;;) {
              const next = await Promise.race([batches.next(), failure]);
              if (next.done === true) return;
              yield next.value;
            }
          };
        },
      });
    };
    const { on, informers } = await open({ storage: forgetful });
    for (const name of ['goes', 'stays', 'changes']) await on.must(201, 'POST', maps, { metadata: { name } });
    const events = record(informers);
    await eventLoopIdle();
    events.length = 0;
    const before = on.cache.revision;
    fail?.(new CompactedError(1, 2));
    await eventLoopIdle();
    // The cache has no watch now: these writes are only in the store.
    const key = (name: string): string => `/registry/core/configmaps/root/default/${name}`;
    const goes = on.cache.peek(key('goes'));
    const changes = on.cache.peek(key('changes'));
    await store?.delete(key('goes'), goes?.revision ?? 0);
    await store?.update(key('changes'), Buffer.from(changes?.value ?? []), changes?.revision ?? 0);
    await on.clock.advance(10_000);
    await eventLoopIdle();
    expect(on.cache.revision).toBeGreaterThan(before);
    expect(events.map((text) => text.split(' ').slice(0, 2).join(' ')).sort()).toEqual([
      'deleted goes',
      'updated changes',
    ]);
  });
});

describe('the metadata informer', () => {
  test('returns kind, resource and owners without parsing objects', async () => {
    const { on, informers } = await open();
    const events: string[] = [];
    informers.metadata.addHandlers({
      changed: ({ kind, resource, namespace, name, uid, metadata }, old) =>
        events.push(
          `${old === undefined ? 'new' : 'changed'} ${kind} ${resource.group}/${resource.version}/${resource.resource} ${namespace}/${name} ${uid === metadata.uid} ${metadata.labels?.['x'] ?? ''}`,
        ),
      deleted: ({ kind, name }) => events.push(`deleted ${kind} ${name}`),
    });
    await eventLoopIdle();
    await on.must(201, 'POST', '/apis/coordination.k8s.io/v1/namespaces/default/leases', {
      metadata: { name: 'l', labels: { x: 'y' } },
    });
    await on.must(200, 'DELETE', '/apis/coordination.k8s.io/v1/namespaces/default/leases/l');
    await eventLoopIdle();
    expect(events).toEqual([
      'new Namespace /v1/namespaces /default true ',
      'new Lease coordination.k8s.io/v1/leases default/l true y',
      'deleted Lease l',
    ]);
  });

  test('shares the metadata of a write in flight', async () => {
    const { on, informers } = await open();
    const owners: unknown[] = [];
    informers.metadata.addHandlers({
      changed: ({ name, metadata }) => {
        if (name !== 'owned') return;
        owners.push(metadata.ownerReferences);
        expect(metadata.resourceVersion).toMatch(/^\d+$/);
      },
      deleted: () => undefined,
    });
    await eventLoopIdle();
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }];
    await on.must(201, 'POST', maps, { metadata: { name: 'owned', ownerReferences } });
    await eventLoopIdle();
    const object = informers.informer(configMaps).get({ cluster: on.cluster, namespace: 'default', name: 'owned' });
    expect(owners).toEqual([ownerReferences]);
    // Parsed again, it would be another list.
    expect(owners[0]).toBe(object?.metadata.ownerReferences);
  });

  test('lists objects of a cluster or a namespace, including custom resources', async () => {
    const { on, informers } = await open();
    await on.serve({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'hats.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'hats', kind: 'Hat' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    await on.must(201, 'POST', maps, { metadata: { name: 'm' } });
    await on.must(201, 'POST', '/apis/example.com/v1/namespaces/default/hats', {
      apiVersion: 'example.com/v1',
      kind: 'Hat',
      metadata: { name: 'h' },
    });
    const names = (scope: Parameters<typeof informers.metadata.list>[0]): string[] =>
      [...informers.metadata.list(scope)].map(({ kind, name }) => `${kind} ${name}`).sort();
    expect(names({ cluster: on.cluster, namespace: 'default' })).toEqual(['ConfigMap m', 'Hat h']);
    expect(names({ cluster: on.cluster })).toEqual([
      'ConfigMap m',
      'CustomResourceDefinition hats.example.com',
      'Hat h',
      'Namespace default',
    ]);
    expect(names({ cluster: on.cluster, resource: { group: 'example.com', version: 'v1', resource: 'hats' } })).toEqual(
      ['Hat h'],
    );
    expect(names({ cluster: asLogicalClusterName('other') })).toEqual([]);
  });
});

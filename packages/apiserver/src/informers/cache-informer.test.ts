import { afterEach, describe, expect, test } from '@jest/globals';
import { type KubeObject, asLogicalClusterName } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import { CompactedError, type Storage, type WatchBatch } from '@multiplane/storage';
import { Pipeline, type PipelineOptions, settle } from '../pipeline-fixture.ts';
import { CacheInformerFactory } from './cache-informer-factory.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const maps = '/api/v1/namespaces/default/configmaps';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

let pipeline: Pipeline | undefined;
async function open(options?: PipelineOptions): Promise<{ on: Pipeline; informers: CacheInformerFactory }> {
  pipeline = await Pipeline.open(options);
  const { cache, reader } = pipeline;
  return { on: pipeline, informers: new CacheInformerFactory({}, { cache, reader, builtIn: builtInResources() }) };
}
afterEach(async () => {
  await pipeline?.close();
});

function record(informers: CacheInformerFactory): string[] {
  const told: string[] = [];
  informers.informer(configMaps).addHandlers({
    added: (object, { cluster, namespace, name }) =>
      told.push(`added ${cluster}|${namespace}/${name} ${object.metadata.resourceVersion}`),
    updated: (object, old) =>
      told.push(`updated ${object.metadata.name} ${old.metadata.resourceVersion}→${object.metadata.resourceVersion}`),
    deleted: (old) => told.push(`deleted ${old.metadata.name}`),
  });
  return told;
}

describe('a lister', () => {
  test('reads the present of one cluster, one namespace, or all', async () => {
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

  test('hands out what nobody can change, and the same to all', async () => {
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
  test('are told of what is there, then of every change', async () => {
    const { on, informers } = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const told = record(informers);
    await settle();
    await on.must(200, 'PATCH', `${maps}/a`, { data: { k: 'v' } }, mergePatch);
    await on.must(200, 'DELETE', `${maps}/a`);
    await settle();
    expect(told).toEqual([
      expect.stringMatching(/^added root\|default\/a \d+$/),
      expect.stringMatching(/^updated a \d+→\d+$/),
      'deleted a',
    ]);
  });

  test('know what was there before from what is new', async () => {
    const { on, informers } = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'old' } });
    const told: [string, boolean][] = [];
    const stop = informers.informer(configMaps).addHandlers({
      added: (object, _reference, wasThere = false) => void told.push([object.metadata.name as string, wasThere]),
    });
    await settle();
    await on.must(201, 'POST', maps, { metadata: { name: 'new' } });
    await settle();
    stop();
    expect(told).toEqual([
      ['old', true],
      ['new', false],
    ]);
  });

  test('that were stopped hear nothing more', async () => {
    const { on, informers } = await open();
    const told: string[] = [];
    const stop = informers
      .informer(configMaps)
      .addHandlers({ added: (object) => void told.push(object.metadata.name as string) });
    await settle();
    stop();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    await settle();
    expect(told).toEqual([]);
  });

  test('are told what was missed when the store forgot its history', async () => {
    let fail: ((error: Error) => void) | undefined;
    let store: Storage | undefined;
    // Once the first watch has failed, nothing of it is delivered any more: the cache must load again.
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
    const told = record(informers);
    await settle();
    told.length = 0;
    const before = on.cache.revision;
    fail?.(new CompactedError(1, 2));
    await settle();
    // The cache is not following now: these writes are only in the store.
    const key = (name: string): string => `/registry/core/configmaps/root/default/${name}`;
    const goes = on.cache.peek(key('goes'));
    const changes = on.cache.peek(key('changes'));
    await store?.delete(key('goes'), goes?.revision ?? 0);
    await store?.update(key('changes'), Buffer.from(changes?.value ?? []), changes?.revision ?? 0);
    await on.clock.advance(10_000);
    await settle();
    expect(on.cache.revision).toBeGreaterThan(before);
    expect(told.map((text) => text.split(' ').slice(0, 2).join(' ')).sort()).toEqual([
      'deleted goes',
      'updated changes',
    ]);
  });
});

describe('metadata of everything', () => {
  test('tells kind, resource and owners of any object without its content', async () => {
    const { on, informers } = await open();
    const told: string[] = [];
    informers.metadata.addHandlers({
      changed: ({ kind, resource, namespace, name, uid, metadata }, old) =>
        told.push(
          `${old === undefined ? 'new' : 'changed'} ${kind} ${resource.group}/${resource.version}/${resource.resource} ${namespace}/${name} ${uid === metadata.uid} ${metadata.labels?.['x'] ?? ''}`,
        ),
      deleted: ({ kind, name }) => told.push(`deleted ${kind} ${name}`),
    });
    await settle();
    await on.must(201, 'POST', '/apis/coordination.k8s.io/v1/namespaces/default/leases', {
      metadata: { name: 'l', labels: { x: 'y' } },
    });
    await on.must(200, 'DELETE', '/apis/coordination.k8s.io/v1/namespaces/default/leases/l');
    await settle();
    expect(told).toEqual([
      'new Namespace /v1/namespaces /default true ',
      'new Lease coordination.k8s.io/v1/leases default/l true y',
      'deleted Lease l',
    ]);
  });

  test('lists what a cluster or a namespace of it holds, custom resources too', async () => {
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

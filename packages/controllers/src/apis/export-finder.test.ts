import { expect, jest, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIBinding, type APIExport } from '@multiplane/apis';
import type { Informer, InformerHandlers, InformerSource } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { eventLoopIdle, FakeClock } from '@multiplane/testing';
import { keyOf } from '../runtime/object-key.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { apiBindingController } from './api-binding-controller.ts';
import { ExportFinder } from './export-finder.ts';
import { ExportReferenceIndex } from './export-reference-index.ts';
import { bindingExportReference } from './export-reference.ts';

const provider = 'provider' as LogicalClusterName;
const consumer = 'consumer' as LogicalClusterName;
const at = (name: string) => ({ cluster: consumer, namespace: '', name });
const things = { metadata: { name: 'things' } } as APIExport;

test('an export that is not found is not-synced before the exports are synced, absent afterwards; waiting keys are requeued once', async () => {
  const known = new Map<string, APIExport>();
  const synced = Promise.withResolvers<void>();
  const requeued: string[] = [];
  const finder = new ExportFinder({
    exports: { synced: synced.promise, byPathAndName: (path, name) => known.get(`${path}|${name}`) },
    requeue: (key) => void requeued.push(key),
  });
  const find = (name: string) => finder.find({ path: 'provider', name: 'things' }, at(name));
  expect(['a', 'b'].map(find)).toEqual(['not-synced', 'not-synced']);
  known.set('provider|things', things);
  expect(find('a')).toBe(things);
  expect(['a', 'b', 'c'].map((name) => finder.isAwaitingSync(keyOf(at(name))))).toEqual([false, true, false]);
  known.clear();
  synced.resolve();
  await eventLoopIdle();
  expect(requeued).toEqual([keyOf(at('b'))]);
  expect(find('c')).toBe('absent');
  expect(['a', 'b', 'c'].some((name) => finder.isAwaitingSync(keyOf(at(name))))).toBe(false);
});

test('a binding created right after a start is queued with normal priority when the initial list contains its export', async () => {
  const clock = new FakeClock();
  const api = new FakeApi();
  api.put(logicalClusters, consumer, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster' },
  });
  const schema = {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'v1.widgets.example.dev', uid: 'uid' },
    spec: {
      group: 'example.dev',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object' } }],
    },
  };
  api.put(apiResourceSchemas, provider, schema);
  api.put(apiExports, provider, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'things' },
    spec: { resources: [{ name: 'widgets', group: 'example.dev', schema: 'v1.widgets.example.dev' }] },
    status: { identityHash: 'hash' },
  });
  // The test delivers the exports.
  let handlers: InformerHandlers | undefined;
  let areExportsKnown = false;
  const { informers, client } = api;
  const exports = informers.informer<APIExport>(apiExports);
  const late = {
    ...exports,
    addHandlers: (added: InformerHandlers) => {
      handlers = added;
      return () => undefined;
    },
  };
  const globalInformers: InformerSource = {
    informer: <T extends KubeObject>(resource: Parameters<InformerSource['informer']>[0]) =>
      resource.resource === 'apiexports' ? (late as unknown as Informer<T>) : informers.informer<T>(resource),
  };
  const reference = { cluster: provider, namespace: '', name: 'things' };
  const controller = apiBindingController({
    byExport: new ExportReferenceIndex(
      { referenceIn: bindingExportReference },
      { informer: informers.informer(apiBindings) },
    ),
    createWithStatus: (resource, cluster, object) => client.create(resource, cluster, object),
    updateWithStatus: (cluster, object) => api.updateWithStatus(apiBindings, cluster, object),
    informers,
    globalInformers,
    client,
    clock,
    logger: silentLogger,
    exports: {
      synced: new Promise(() => undefined),
      byPathAndName: () => (areExportsKnown ? exports.get(reference) : undefined),
    },
  });
  const { queue } = controller;
  await controller.start();
  try {
    const add = jest.spyOn(queue, 'add');
    api.put(apiBindings, consumer, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'things' },
      spec: { reference: { export: { path: 'provider', name: 'things' } } },
    });
    await clock.advance(0);
    expect(queue.idle).toBe(true);
    expect(api.get<APIBinding>(apiBindings, consumer, 'things')?.status?.phase).toBe('Binding');
    add.mockClear();
    areExportsKnown = true;
    handlers?.added?.(exports.get(reference) as APIExport, reference, true);
    // Not with low priority.
    await clock.advance(0);
    expect(add.mock.calls[0]?.[1] ?? false).toBe(false);
    expect(add.mock.calls[0]?.[0]).toBe(keyOf(at('things')));
    await clock.advance(0);
    expect(api.get<APIBinding>(apiBindings, consumer, 'things')?.status?.phase).toBe('Bound');
  } finally {
    await controller.stop();
  }
});

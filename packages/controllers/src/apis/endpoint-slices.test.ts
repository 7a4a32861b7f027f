import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pathAnnotation, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  type APIBinding,
  type APIExport,
  type APIExportEndpointSlice,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import type { Controller } from '../runtime/controller.ts';
import { shards } from '../sharding/kinds.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { delayInitialList } from '../../test/delayed-initial-list.ts';
import { partitions } from '../topology/kinds.ts';
import { endpointSliceController } from './endpoint-slice-controller.ts';
import { endpointSliceUrlController } from './endpoint-slice-url-controller.ts';
import { ExportReferenceIndex } from './export-reference-index.ts';
import { bindingExportReference } from './export-reference.ts';

const provider = 'provider' as LogicalClusterName;
const consumer = 'consumer' as LogicalClusterName;
const root = 'root' as LogicalClusterName;
const url = 'https://east/vw/services/apiexport/provider/things';
const things: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'things', annotations: { [pathAnnotation]: 'root:provider' } },
};
const slice = (name: string, more: object = {}, exportName = 'things'): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIExportEndpointSlice',
  metadata: { name },
  spec: { export: { name: exportName }, ...more },
});
const binding = (name: string): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name },
  spec: { reference: { export: { path: 'root:provider', name: 'things' } } },
});
const shard = (labels: Record<string, string>): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name: 'east', labels },
  spec: { baseURL: 'https://east', virtualWorkspaceURL: 'https://east/vw/' },
});
const partition = (name: string, labels: Record<string, string>): KubeObject => ({
  apiVersion: 'topology.kcp.io/v1alpha1',
  kind: 'Partition',
  metadata: { name },
  spec: { selector: { matchLabels: labels, matchExpressions: [{ key: 'zone', operator: 'In', values: ['b', 'a'] }] } },
});

let api: FakeApi;
let clock: FakeClock;
let controllers: Controller[];
function start(informers = api.informers): void {
  const { client } = api;
  const modules = {
    informers,
    globalInformers: api.informers,
    client,
    clock,
    logger: silentLogger,
    exports: new PathAndNameIndex({ informer: api.informers.informer<APIExport>(apiExports) }),
  };
  const byExport = new ExportReferenceIndex(
    { referenceIn: bindingExportReference },
    { informer: informers.informer<APIBinding>(apiBindings) },
  );
  controllers = [
    endpointSliceController(modules),
    endpointSliceUrlController({ shardName: 'east' }, { ...modules, byExport, clientFor: () => client }),
  ];
  for (const controller of controllers) void controller.start();
}
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  start();
  api.put(shards, root, shard({ region: 'eu', zone: 'a' }));
  api.put(apiExports, provider, things);
});
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, controllers);
const statusOf = (name: string) => api.get<APIExportEndpointSlice>(apiExportEndpointSlices, provider, name)?.status;
const urlsOf = (name: string): string[] => (statusOf(name)?.endpoints ?? []).map((endpoint) => endpoint.url);
const conditionOf = (name: string, wanted: string): string | undefined => {
  const found = statusOf(name)?.conditions?.find(({ type }) => type === wanted);
  return found === undefined ? undefined : [found.status, found.reason, found.message].filter(Boolean).join(' ');
};

describe('an endpoint slice', () => {
  test('is valid only if its export exists', async () => {
    api.put(apiExportEndpointSlices, provider, slice('own'));
    api.put(apiExportEndpointSlices, provider, slice('x', {}, 'nosuch'));
    await settled();
    expect(statusOf('own')).toEqual({
      conditions: ['APIExportValid', 'PartitionValid'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: expect.any(String),
      })),
    });
    expect(conditionOf('x', 'APIExportValid')).toBe('False APIExportNotFound Error getting APIExport provider|nosuch');
    expect(conditionOf('x', 'PartitionValid')).toBeUndefined();
    api.put(apiExports, provider, { ...things, metadata: { name: 'nosuch' } });
    await settled();
    expect(conditionOf('x', 'APIExportValid')).toBe('True');
  });

  test('has the shard selector of its partition', async () => {
    api.put(apiExportEndpointSlices, provider, slice('part', { partition: 'here' }));
    await settled();
    expect(conditionOf('part', 'PartitionValid')).toBe(
      'False PartitionInvalidReference partition.topology.kcp.io "here" not found',
    );
    api.put(partitions, provider, partition('here', { region: 'eu' }));
    await settled();
    expect(conditionOf('part', 'PartitionValid')).toBe('True');
    expect(statusOf('part')?.shardSelector).toBe('region=eu,zone in (a,b)');
  });

  test('created before the first binding gets its URL with that binding, unlike in kcp', async () => {
    api.put(apiExportEndpointSlices, provider, slice('own'));
    await settled();
    expect(urlsOf('own')).toEqual([]);
    api.put(apiBindings, consumer, binding('a'));
    await settled();
    expect(urlsOf('own')).toEqual([url]);
  });

  test('loses the URL with the last binding', async () => {
    api.put(apiBindings, consumer, binding('a'));
    api.put(apiBindings, consumer, binding('b'));
    api.put(apiExportEndpointSlices, provider, slice('own'));
    await settled();
    expect(urlsOf('own')).toEqual([url]);
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'a' });
    await settled();
    expect(urlsOf('own')).toEqual([url]);
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'b' });
    await settled();
    expect(urlsOf('own')).toEqual([]);
  });

  test('keeps the URL after a start until its bindings are synced, and loses it if there are none', async () => {
    api.put(apiBindings, consumer, binding('a'));
    api.put(apiExportEndpointSlices, provider, slice('own'));
    await settled();
    const restart = async (): Promise<() => void> => {
      await Promise.all(controllers.map((controller) => controller.stop()));
      const delayed = delayInitialList(api.informers);
      start(delayed.informers);
      return delayed.deliver;
    };
    let deliver = await restart();
    // Changes of the slice and of another binding before the sync.
    api.put(apiExportEndpointSlices, provider, { ...slice('own'), status: statusOf('own') });
    api.put(apiBindings, consumer, binding('short'));
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'short' });
    await settled();
    expect(urlsOf('own')).toEqual([url]);
    deliver();
    await settled();
    expect(urlsOf('own')).toEqual([url]);
    await Promise.all(controllers.map((controller) => controller.stop()));
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'a' });
    deliver = await restart();
    await settled();
    expect(urlsOf('own')).toEqual([url]);
    deliver();
    await settled();
    expect(urlsOf('own')).toEqual([]);
  });

  test('is written for the first binding and not for the next hundred', async () => {
    api.put(apiExportEndpointSlices, provider, slice('own'));
    api.put(apiBindings, consumer, binding('first'));
    await settled();
    const before = api.writes.length;
    for (let index = 0; index < 100; index++) api.put(apiBindings, consumer, binding(`b${index}`));
    await settled();
    expect(api.writes.slice(before)).toEqual([]);
  });

  test('of another partition gets no URL; one whose partition the shard leaves keeps its URL', async () => {
    api.put(partitions, provider, partition('us', { region: 'us' }));
    api.put(partitions, provider, partition('eu', { region: 'eu' }));
    api.put(apiExportEndpointSlices, provider, slice('us', { partition: 'us' }));
    api.put(apiExportEndpointSlices, provider, slice('eu', { partition: 'eu' }));
    api.put(apiBindings, consumer, binding('a'));
    await settled();
    expect([urlsOf('us'), urlsOf('eu')]).toEqual([[], [url]]);
    api.put(shards, root, shard({ region: 'us', zone: 'a' }));
    await settled();
    expect([urlsOf('us'), urlsOf('eu')]).toEqual([[url], [url]]);
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: 'a' });
    await settled();
    expect([urlsOf('us'), urlsOf('eu')]).toEqual([[], []]);
  });

  test('loses its endpoints when its export is deleted', async () => {
    api.put(apiBindings, consumer, binding('a'));
    api.put(apiExportEndpointSlices, provider, slice('own'));
    await settled();
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    await settled();
    expect(urlsOf('own')).toEqual([]);
    api.put(apiExports, provider, things);
    await settled();
    expect(urlsOf('own')).toEqual([url]);
  });
});

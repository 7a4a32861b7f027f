import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiExportScopes,
  type APIBinding,
  type APIExport,
  type APIExportScope,
} from '@multiplane/apis';
import { PathAndNameIndex, type ObjectClient } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { advanceUntilIdle, FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { bindingExportReference } from '../apis/export-reference.ts';
import type { Controller } from '../runtime/controller.ts';
import { shards } from '../sharding/kinds.ts';
import { scopeController } from './scope-controller.ts';
import { reportIntervalMs, scopeReportController } from './scope-report-controller.ts';

const provider = 'provider' as LogicalClusterName;
const root = 'root' as LogicalClusterName;
const events = { group: '', version: 'v1', resource: 'events' };

const scope = (name: string, value: string, status: object = {}, createdAt = '2026-01-01T00:00:00Z'): KubeObject => ({
  apiVersion: 'scopes.multiplane.dev/v1alpha1',
  kind: 'APIExportScope',
  metadata: { name, creationTimestamp: createdAt },
  spec: { export: { name: 'market' }, selector: { matchLabels: { provider: value } } },
  status,
});
const shard = (name: string): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name },
  spec: { baseURL: `https://${name}`, virtualWorkspaceURL: `https://${name}` },
});

let api: FakeApi;
let clock: FakeClock;
let controllers: Controller[];
const modules = () => {
  const { informers, client } = api;
  return {
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: silentLogger,
    exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
  };
};
const start = (...started: Controller[]): void => {
  for (const controller of started) void controller.start();
  controllers.push(...started);
};
const after = (ms: number): Promise<void> => advanceUntilIdle(clock, ms, controllers);
const statusOf = (name: string) => api.get<APIExportScope>(apiExportScopes, provider, name)?.status;

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  controllers = [];
  for (const name of ['east', 'west']) api.put(shards, root, shard(name));
  api.put(apiExports, provider, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'market' },
    spec: { resources: [{ name: 'clusters', group: 'market.example', schema: 'v1.clusters.market.example' }] },
    status: { identityHash: 'identity' },
  });
});
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));

describe('the controller of scopes', () => {
  test('leaves a scope whose label an older one has out of force, with one event', async () => {
    api.put(apiExportScopes, provider, scope('old', 'a'));
    api.put(apiExportScopes, provider, scope('young', 'a', {}, '2026-01-02T00:00:00Z'));
    start(scopeController(modules()));
    await after(100);
    expect(statusOf('old')).toMatchObject({ identityHash: 'identity', labelKey: 'provider', labelValue: 'a' });
    expect(statusOf('young')).not.toHaveProperty('identityHash');
    await after(60_000);
    const message = 'SelectorValid is False: APIExportScope old has the same key and value';
    expect(api.all(events, provider)).toMatchObject([
      { type: 'Warning', reason: 'Overlap', message, count: 1, involvedObject: { name: 'young' } },
    ]);
    // When the older one is gone, the younger one takes its place.
    api.remove(apiExportScopes, { cluster: provider, namespace: '', name: 'old' });
    await after(100);
    expect(statusOf('young')).toMatchObject({ identityHash: 'identity' });
  });

  test('removes the counts of a shard that was removed, and keeps those of others', async () => {
    const reports = ['east', 'west'].map((name) => ({ name, objects: 3 }));
    api.put(apiExportScopes, provider, scope('a', 'a', { shards: reports }));
    start(scopeController(modules()));
    await after(100);
    expect(statusOf('a')?.shards).toEqual(reports);
    api.remove(shards, { cluster: root, namespace: '', name: 'west' });
    await after(100);
    expect(statusOf('a')?.shards).toEqual([{ name: 'east', objects: 3 }]);
  });
});

describe('the reports of a shard', () => {
  const inForce = { exportCluster: provider, identityHash: 'identity' };
  /** Names of the scopes that were reported to, in order. */
  const written: string[] = [];
  let counts: Map<string, number>;

  /** Server-side apply of one field manager. */
  const client = {
    patch: async (_resource: unknown, { name }: { name: string }, _type: unknown, body: object) => {
      written.push(name);
      const stored = api.get<APIExportScope>(apiExportScopes, provider, name) as KubeObject;
      const applied = (body as { status: { shards?: object[] } }).status;
      api.put(apiExportScopes, provider, { ...stored, status: { ...inForce, ...applied } });
      return stored;
    },
  } as unknown as ObjectClient;

  const replica = (): Controller => {
    const { informers } = api;
    return scopeReportController(
      { shardName: 'east' },
      {
        ...modules(),
        byExport: new ExportReferenceIndex(
          { referenceIn: bindingExportReference },
          { informer: informers.informer<APIBinding>(apiBindings) },
        ),
        clientFor: () => client,
        scopedObjects: { countByValue: () => Promise.resolve(counts) },
      },
    );
  };
  const bind = (): void =>
    void api.put(apiBindings, 'consumer' as LogicalClusterName, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'market' },
      spec: { reference: { export: { path: 'provider', name: 'market' } } },
    });

  beforeEach(() => {
    written.length = 0;
    counts = new Map();
  });

  test('are written at a bounded rate, however often the counts change', async () => {
    bind();
    const names = Array.from({ length: 25 }, (_, i) => `s${i}`);
    for (const name of names) api.put(apiExportScopes, provider, scope(name, name, inForce));
    start(replica());
    await after(10);
    expect(written.length).toBe(10);
    await after(1_000);
    expect(written.length).toBe(20);
    await after(1_000);
    expect(written.toSorted()).toEqual(names.toSorted());
    expect(statusOf('s7')?.shards).toEqual([{ name: 'east', objects: 0 }]);
    for (let passed = 0; passed < 60_000; passed += 500) {
      counts = new Map(names.map((name) => [name, passed]));
      await after(500);
    }
    expect(written.length).toBeLessThanOrEqual(25 + (60_000 / reportIntervalMs + 1) * 25);
    // Every scope gets its turn, also under constant changes.
    for (const name of names) expect(statusOf(name)?.shards?.[0]?.objects).toBeGreaterThan(40_000);
  });

  test('are the same from two replicas, so that the second one writes nothing', async () => {
    bind();
    api.put(apiExportScopes, provider, scope('a', 'a', inForce));
    counts = new Map([['a', 4]]);
    start(replica());
    await after(10);
    expect(statusOf('a')?.shards).toEqual([{ name: 'east', objects: 4 }]);
    start(replica());
    await after(reportIntervalMs * 3);
    expect(written).toEqual(['a']);
  });

  test('are removed with the last consumer', async () => {
    api.put(apiExportScopes, provider, scope('a', 'a', { ...inForce, shards: [{ name: 'east', objects: 1 }] }));
    start(replica());
    await after(10);
    expect(statusOf('a')).not.toHaveProperty('shards');
    bind();
    await after(reportIntervalMs);
    expect(statusOf('a')?.shards).toEqual([{ name: 'east', objects: 0 }]);
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExports,
  apiExportScopes,
  apiExportScopeSets,
  type APIExport,
  type APIExportScope,
  type APIExportScopeSet,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { advanceUntilIdle, FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import type { Controller } from '../runtime/controller.ts';
import { shards } from '../sharding/kinds.ts';
import { scopeSetController } from './scope-set-controller.ts';

const provider = 'provider' as LogicalClusterName;
const root = 'root' as LogicalClusterName;
const key = 'market/provider';

const set = (spec: object, status: object = {}): KubeObject => ({
  apiVersion: 'scopes.multiplane.dev/v1alpha1',
  kind: 'APIExportScopeSet',
  metadata: { name: 'all', uid: 'uid-of-all' },
  spec: { export: { name: 'market' }, labelKey: key, ...spec },
  status,
});
const market: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'market' },
  spec: {},
  status: { identityHash: 'identity' },
};

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, [controller]);
const scopes = (): APIExportScope[] => api.all(apiExportScopes, provider);
const valuesByName = (): Record<string, string | undefined> => {
  const values: Record<string, string | undefined> = {};
  for (const { metadata, spec } of scopes()) values[metadata.name ?? ''] = spec?.selector.matchLabels?.[key];
  return values;
};
const statusOf = () => api.get<APIExportScopeSet>(apiExportScopeSets, provider, 'all')?.status;
const conditionOf = (wanted: string): string | undefined => {
  const found = statusOf()?.conditions?.find(({ type }) => type === wanted);
  return found === undefined ? undefined : [found.status, found.reason, found.message].filter(Boolean).join(' ');
};

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  const { informers, client } = api;
  for (const name of ['east', 'west'])
    api.put(shards, root, { apiVersion: 'core.kcp.io/v1alpha1', kind: 'Shard', metadata: { name } });
  api.put(apiExports, provider, market);
  controller = scopeSetController({
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: silentLogger,
    exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
  });
  void controller.start();
});
afterEach(() => controller.stop());

describe('a set with a list of values', () => {
  test('has a scope for each value, with the template and an owner', async () => {
    api.put(apiExportScopeSets, provider, set({ values: ['a', 'B_2'], template: { assignment: 'Provider' } }));
    await settled();
    const names = Object.keys(valuesByName());
    expect(new Set(Object.values(valuesByName()))).toEqual(new Set(['B_2', 'a']));
    // A value that is no DNS label has a name with its hash.
    expect(names.find((name) => name !== 'all-a')).toMatch(/^all-[0-9a-f]{10}$/);
    expect(scopes().find(({ metadata }) => metadata.name === 'all-a')).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'APIExportScopeSet', name: 'all', uid: 'uid-of-all', controller: true }] },
      spec: { assignment: 'Provider', export: { name: 'market' }, selector: { matchLabels: { [key]: 'a' } } },
    });
    expect(statusOf()).toMatchObject({ count: 2, exportCluster: provider, identityHash: 'identity' });
    expect([conditionOf('ExportValid'), conditionOf('ScopesReady')]).toEqual(['True', 'True']);
  });

  test('creates, updates and deletes scopes when the set changes; restores what others change', async () => {
    api.put(apiExportScopeSets, provider, set({ values: ['a', 'b'] }));
    await settled();
    api.put(apiExportScopeSets, provider, set({ values: ['b', 'c'], template: { assignment: 'Provider' } }));
    await settled();
    expect(valuesByName()).toEqual({ 'all-b': 'b', 'all-c': 'c' });
    expect(scopes().map(({ spec }) => spec?.assignment)).toEqual(['Provider', 'Provider']);
    const [changed] = scopes() as [APIExportScope];
    api.put(apiExportScopes, provider, { ...changed, spec: { ...changed.spec, assignment: 'Consumer' } });
    api.remove(apiExportScopes, { cluster: provider, namespace: '', name: 'all-c' });
    await settled();
    expect(scopes().map(({ metadata, spec }) => [metadata.name, spec?.assignment])).toEqual([
      ['all-b', 'Provider'],
      ['all-c', 'Provider'],
    ]);
    const writes = api.writes.length;
    await advanceUntilIdle(clock, 60_000, [controller]);
    expect(api.writes.length).toBe(writes);
  });

  test('leaves the scope of another owner alone, and reports that its name is taken', async () => {
    const foreign = {
      apiVersion: 'scopes.multiplane.dev/v1alpha1',
      kind: 'APIExportScope',
      metadata: { name: 'all-a' },
      spec: { export: { name: 'other' }, selector: { matchLabels: { x: 'y' } } },
    };
    api.put(apiExportScopes, provider, foreign);
    api.put(apiExportScopeSets, provider, set({ values: ['a', 'b'] }));
    await settled();
    expect(valuesByName()).toEqual({ 'all-a': undefined, 'all-b': 'b' });
    expect(conditionOf('ScopesReady')).toMatch(/^False ErrorCreatingScopes .*already exists/);
  });

  test('waits for its export, and stays with the one that it found first', async () => {
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'market' });
    api.put(apiExportScopeSets, provider, set({ values: ['a'] }));
    await settled();
    expect(conditionOf('ExportValid')).toBe('False APIExportNotFound APIExport provider|market not found');
    api.put(apiExports, provider, { ...market, status: {} });
    await settled();
    expect(conditionOf('ExportValid')).toMatch(/^False IdentityPending/);
    api.put(apiExports, provider, market);
    await settled();
    expect([conditionOf('ExportValid'), statusOf()?.identityHash]).toEqual(['True', 'identity']);
  });
});

describe('a set of the values that occur', () => {
  const report = (name: string, ...values: string[]): object => ({ name, values });

  test('has a scope for each value that a shard reports, and keeps it when no shard does any more', async () => {
    const occurring = { occurring: { limit: 10 } };
    api.put(
      apiExportScopeSets,
      provider,
      set(occurring, { shards: [report('east', 'a', 'b'), report('west', 'b', 'c')] }),
    );
    await settled();
    expect(valuesByName()).toEqual({ 'all-a': 'a', 'all-b': 'b', 'all-c': 'c' });
    api.put(apiExportScopeSets, provider, set(occurring, { shards: [report('east', 'd')] }));
    await settled();
    expect(Object.keys(valuesByName())).toEqual(['all-a', 'all-b', 'all-c', 'all-d']);
    expect([statusOf()?.count, conditionOf('ScopesReady')]).toEqual([4, 'True']);
  });

  test('is bounded: existing scopes come first, and the condition tells what to do', async () => {
    const limited = { occurring: { limit: 2 } };
    api.put(apiExportScopeSets, provider, set(limited, { shards: [report('east', 'm', 'n')] }));
    await settled();
    api.put(apiExportScopeSets, provider, set(limited, { shards: [report('east', 'a', 'm', 'n')] }));
    await settled();
    expect(Object.keys(valuesByName())).toEqual(['all-m', 'all-n']);
    expect(conditionOf('ScopesReady')).toMatch(/^False LimitExceeded more than 2 values occur; raise/);
  });

  test('forgets what a removed shard reported', async () => {
    const reports = { shards: [report('east', 'a'), report('west', 'b')] };
    api.put(apiExportScopeSets, provider, set({ occurring: { limit: 10 } }, reports));
    await settled();
    expect(statusOf()?.shards?.map(({ name }) => name)).toEqual(['east', 'west']);
    api.remove(shards, { cluster: root, namespace: '', name: 'west' });
    await settled();
    expect(statusOf()?.shards?.map(({ name }) => name)).toEqual(['east']);
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { hexSha256, type Json, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  cachedResourceEndpointSlices,
  cachedResourceFinalizer,
  cachedResources,
  defaultSliceAnnotation,
  resourceKindAnnotation,
  resourceScopeAnnotation,
  skipCachedResourceSliceAnnotation,
  type CachedResource,
} from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { FakeCachedObjectStore } from '../../test/fake-cached-object-store.ts';
import { secrets } from '../apis/api-export-identity.ts';
import type { Controller } from '../runtime/controller.ts';
import { CacheMonitor } from './cache-monitor.ts';
import { cachedResourceController } from './cached-resource-controller.ts';
import type { ServedResourceSpec } from './cached-resource-reconcile.ts';

const cluster = 'provider' as LogicalClusterName;
const flavors = { group: 'example.io', version: 'v1', resource: 'flavors' };
const reference = { cluster, namespace: '', name: 'flavors' };
const identity = hexSha256(Buffer.from('secret key'));
const kind = { ...flavors, identity };

const cached = (more: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResource',
  metadata: { name: 'flavors', ...metadata },
  spec: { ...flavors, identity: { secretRef: { namespace: 'default', name: 'key' } }, ...more },
});
const flavor = (name: string, color: string): KubeObject => ({
  apiVersion: 'example.io/v1',
  kind: 'Flavor',
  metadata: { name, labels: { color } },
});
const secret = (key: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'default', name: 'key' },
  data: { key: Buffer.from(key).toString('base64') },
});

let api: FakeApi;
let clock: FakeClock;
let store: FakeCachedObjectStore;
let served: ServedResourceSpec | undefined;
let cacheFailure: Error | undefined;
let cacheMonitor: CacheMonitor;
let controllers: Controller[];
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  store = new FakeCachedObjectStore();
  served = { kind: 'Flavor', namespaced: false, isVirtual: false };
  cacheFailure = undefined;
  const check = (): Promise<void> => (cacheFailure === undefined ? Promise.resolve() : Promise.reject(cacheFailure));
  cacheMonitor = new CacheMonitor({ check, clock });
  start();
});
/** Begins with the objects that exist. */
function start(): void {
  const { informers, client } = api;
  controllers = cachedResourceController(
    { shardName: 'east', randomBytes: (size) => Buffer.alloc(size, 1) },
    {
      informers,
      client,
      clock,
      logger: silentLogger,
      store,
      cacheMonitor,
      fresh: async () => undefined,
      servedResource: () => served,
    },
  ) as Controller[];
  for (const controller of controllers) void controller.start();
}
afterEach(() => Promise.all(controllers.map((controller) => controller.stop())));
const settled = (ms = 1_000): Promise<void> => advanceUntilIdle(clock, ms, controllers);
const current = () => api.get<CachedResource>(cachedResources, cluster, 'flavors');
const conditionOf = (wanted: string): string | undefined => {
  const found = current()?.status?.conditions?.find(({ type }) => type === wanted);
  return found === undefined ? undefined : [found.status, found.reason, found.message].filter(Boolean).join(' ');
};
/** Replaces spec.labelSelector as a user would. */
const select = (labelSelector: Json): void => {
  const object = current() as unknown as CachedResource;
  api.put(cachedResources, cluster, { ...object, spec: { ...object.spec, labelSelector } });
};

describe('a CachedResource', () => {
  test('replicates the objects that it selects and reports their counts', async () => {
    api.put(secrets, cluster, secret('secret key'));
    api.put(flavors, cluster, flavor('red-1', 'red'));
    api.put(flavors, cluster, flavor('blue-1', 'blue'));
    api.put(flavors, 'other' as LogicalClusterName, flavor('red-2', 'red'));
    api.put(cachedResources, cluster, cached({ labelSelector: { matchLabels: { color: 'red' } } }));
    await settled();
    expect(store.names(kind)).toEqual(['red-1']);
    expect(current()?.metadata.finalizers).toEqual([cachedResourceFinalizer]);
    expect(current()?.metadata.annotations).toMatchObject({
      [resourceKindAnnotation]: 'Flavor',
      [resourceScopeAnnotation]: 'Cluster',
    });
    expect(current()?.status).toMatchObject({
      phase: 'Ready',
      identityHash: identity,
      resourceCounts: { cache: 1, local: 1 },
    });
    for (const type of ['ResourceValid', 'IdentityValid', 'ReplicationStarted']) expect(conditionOf(type)).toBe('True');
  });

  test('has no condition ReplicationStarted before the cached objects are known', async () => {
    const opened = Promise.withResolvers<void>();
    store.opened = opened.promise;
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(current()?.status?.phase).toBe('Initializing');
    expect(conditionOf('ResourceValid')).toBe('True');
    expect(conditionOf('ReplicationStarted')).toBeUndefined();
    opened.resolve();
    await settled();
    expect(current()?.status?.phase).toBe('Ready');
    expect(conditionOf('ReplicationStarted')).toBe('True');
  });

  test('removes the cached objects that a changed selector no longer selects', async () => {
    api.put(secrets, cluster, secret('secret key'));
    api.put(flavors, cluster, flavor('red-1', 'red'));
    api.put(flavors, cluster, flavor('blue-1', 'blue'));
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(store.names(kind)).toEqual(['blue-1', 'red-1']);
    select({ matchLabels: { color: 'blue' } });
    await settled();
    expect(store.names(kind)).toEqual(['blue-1']);
    expect(current()?.status?.resourceCounts).toEqual({ cache: 1, local: 1 });
    api.put(flavors, cluster, flavor('blue-1', 'red'));
    await settled();
    expect(store.names(kind)).toEqual([]);
    expect(current()?.status?.resourceCounts).toEqual({ cache: 0, local: 0 });
  });

  test('keeps its cached objects when it is deleted until they are purged, then loses its finalizer', async () => {
    api.put(secrets, cluster, secret('secret key'));
    api.put(flavors, cluster, flavor('red-1', 'red'));
    api.put(cachedResources, cluster, cached());
    await settled();
    const opened = Promise.withResolvers<void>();
    store.opened = opened.promise;
    api.remove(cachedResources, reference);
    await settled();
    expect(current()?.status?.phase).toBe('Deleting');
    expect(conditionOf('ResourceValid')).toBe('False Deleting Published resource deleting');
    expect(store.names(kind)).toEqual(['red-1']);
    opened.resolve();
    await settled();
    expect(store.names(kind)).toEqual([]);
    expect(store.openKinds).toBe(0);
    expect(current()).toBeUndefined();
    expect(api.writes.filter((write) => write.includes('cachedresources')).slice(-3)).toEqual([
      'update/status cachedresources provider|flavors',
      'update/status cachedresources provider|flavors',
      'update cachedresources provider|flavors',
    ]);
  });
});

describe('CacheReachable', () => {
  /** The monitor checks every second; controllers need time as well. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) await settled(500);
  }
  beforeEach(async () => {
    await cacheMonitor.runnable.start();
    api.put(secrets, cluster, secret('secret key'));
    api.put(flavors, cluster, flavor('red-1', 'red'));
    api.put(cachedResources, cluster, cached());
    await settled();
  });
  afterEach(() => cacheMonitor.runnable.stop());

  test('says since when consumers read an old state, and that they no longer do', async () => {
    expect(conditionOf('CacheReachable')).toBeUndefined();
    cacheFailure = new Error('no servers available for connection');
    await pass(1_000);
    const since = new Date(clock.now()).toISOString().slice(0, 18);
    await pass(3_000);
    // A restart of a cache server takes as long.
    expect(conditionOf('CacheReachable')).toBeUndefined();
    await pass(4_000);
    const condition = current()?.status?.conditions?.find(({ type }) => type === 'CacheReachable');
    expect(condition).toMatchObject({ status: 'False', severity: 'Warning', reason: 'CacheUnreachable' });
    expect(condition?.message).toBe(
      `the cache cannot be reached since ${condition?.lastTransitionTime}: consumers read the state of that time, changes are published when it is back (no servers available for connection)`,
    );
    expect(condition?.lastTransitionTime?.slice(0, 18)).toBe(since);
    api.put(flavors, cluster, flavor('red-2', 'red'));
    await settled();
    expect(current()?.status?.resourceCounts?.local).toBe(2);

    cacheFailure = undefined;
    await pass(2_000);
    expect(conditionOf('CacheReachable')).toBe('True');
  });

  test('is not reported for a short interruption', async () => {
    cacheFailure = new Error('connection reset');
    await pass(3_000);
    cacheFailure = undefined;
    await pass(3_000);
    cacheFailure = new Error('connection reset');
    await pass(3_000);
    expect(conditionOf('CacheReachable')).toBeUndefined();
  });
});

describe('ResourceValid', () => {
  test('is False for a resource that is not served, until an APIBinding serves it', async () => {
    served = undefined;
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(conditionOf('ResourceValid')).toMatch(/^False NoResources flavors\.v1\.example\.io is not served/);
    expect(current()?.metadata.finalizers).toBeUndefined();
    served = { kind: 'Flavor', namespaced: true, isVirtual: false };
    api.put(apiBindings, cluster, { apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIBinding', metadata: { name: 'b' } });
    await settled();
    expect(conditionOf('ResourceValid')).toBe('True');
    expect(current()?.metadata.annotations).toMatchObject({ [resourceScopeAnnotation]: 'Namespaced' });
  });

  test('is checked again after some time without an event', async () => {
    served = undefined;
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached());
    await settled();
    served = { kind: 'Flavor', namespaced: false, isVirtual: false };
    await settled(6_000);
    expect(conditionOf('ResourceValid')).toBe('True');
  });

  test('is False for a virtual resource, whose replication stops', async () => {
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(store.openKinds).toBe(1);
    served = { kind: 'Flavor', namespaced: false, isVirtual: true };
    select({});
    await settled();
    expect(conditionOf('ResourceValid')).toMatch(
      /^False ResourceVirtual flavors\.v1\.example\.io is a virtual resource/,
    );
    expect(store.openKinds).toBe(0);
  });
});

describe('IdentityValid', () => {
  test('is False without the secret, and True once it exists', async () => {
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(conditionOf('IdentityValid')).toBe(
      'False IdentityVerificationFailed secrets "key" not found; restore data.key of secret default/key, or create the CachedResource again',
    );
    expect(current()?.status?.identityHash).toBeUndefined();
    api.put(secrets, cluster, secret('secret key'));
    await settled();
    expect(conditionOf('IdentityValid')).toBe('True');
    expect(current()?.status?.identityHash).toBe(identity);
  });

  test('is False when the key changes; the replication stops and status.identityHash stays', async () => {
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached());
    await settled();
    api.put(secrets, cluster, secret('another key'));
    await settled();
    expect(conditionOf('IdentityValid')).toMatch(/^False IdentityVerificationFailed hash mismatch: /);
    expect(current()?.status?.identityHash).toBe(identity);
    expect(store.openKinds).toBe(0);
  });

  test('gets a generated secret in kcp-system if the spec names none', async () => {
    api.put(cachedResources, cluster, cached({ identity: undefined }));
    await settled();
    expect(current()?.spec?.identity?.secretRef).toEqual({ namespace: 'kcp-system', name: 'flavors' });
    expect(api.get(secrets, cluster, 'flavors', 'kcp-system')).toMatchObject({
      stringData: { key: '01'.repeat(32) },
    });
  });

  test('reports that the secret cannot be created', async () => {
    api.onWrite = (verb, { resource }) => {
      if (verb === 'create' && resource === 'secrets') throw new Error('disk full');
    };
    api.put(cachedResources, cluster, cached({ identity: undefined }));
    await settled();
    expect(conditionOf('IdentityValid')).toMatch(
      /^False IdentityGenerationFailed Error creating identity secret: .*disk full/,
    );
  });
});

describe('the CachedResourceEndpointSlice of a CachedResource', () => {
  const slice = () => api.get(cachedResourceEndpointSlices, cluster, 'flavors');

  test('is made with it at once, also if nothing can be replicated, and again after its deletion', async () => {
    served = undefined;
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(slice()).toMatchObject({
      metadata: {
        annotations: { [defaultSliceAnnotation]: '' },
        ownerReferences: [{ kind: 'CachedResource', name: 'flavors', uid: current()?.metadata.uid }],
      },
      spec: { cachedResource: { name: 'flavors' } },
    });
    api.remove(cachedResourceEndpointSlices, reference);
    expect(slice()).toBeUndefined();
    await settled();
    expect(slice()).toBeDefined();
  });

  test('is made for CachedResources of earlier versions', async () => {
    await Promise.all(controllers.map((controller) => controller.stop()));
    api.put(cachedResources, cluster, cached());
    expect(slice()).toBeUndefined();
    start();
    await settled();
    expect(slice()).toBeDefined();
  });

  test('is not made if the annotation says so', async () => {
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached({}, { annotations: { [skipCachedResourceSliceAnnotation]: '' } }));
    await settled();
    expect(conditionOf('ReplicationStarted')).toBe('True');
    expect(api.all(cachedResourceEndpointSlices, cluster)).toEqual([]);
  });

  test('is left alone if the provider has made one, and is not made while the CachedResource is deleted', async () => {
    const own = {
      apiVersion: 'cache.kcp.io/v1alpha1',
      kind: 'CachedResourceEndpointSlice',
      metadata: { name: 'flavors' },
    };
    api.put(cachedResourceEndpointSlices, cluster, { ...own, spec: { cachedResource: { name: 'others' } } });
    api.put(secrets, cluster, secret('secret key'));
    api.put(cachedResources, cluster, cached());
    await settled();
    expect(slice()?.['spec']).toEqual({ cachedResource: { name: 'others' } });
    api.remove(cachedResources, reference);
    api.remove(cachedResourceEndpointSlices, reference);
    await settled();
    expect(slice()).toBeUndefined();
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  clusterAnnotation,
  statusErrors,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  AdmissionChain,
  DecodedObjects,
  DefinitionResolver,
  encodeForStorage,
  ObjectReader,
  ObjectStore,
  type AdmissionAttributes,
} from '@multiplane/apiserver';
import { apiBindingFinalizer, apiBindings, builtInResources } from '@multiplane/apis';
import { systemClock } from '@multiplane/component-base';
import { logicalClusterFinalizer, logicalClusters } from '@multiplane/controllers';
import { MemoryStorage, objectKey, openWatchCache, registryPrefix, type WatchCache } from '@multiplane/storage';
import { LogicalClusterContentDeleter } from './logical-cluster-content-deleter.ts';

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const configMaps = core('configmaps');
const namespaces = core('namespaces');
const webhooks = { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'validatingwebhookconfigurations' };
const roleBindings = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings' };
const tenant = 'tenant' as LogicalClusterName;
const other = 'tenant-2' as LogicalClusterName;

let cache: WatchCache;
let content: LogicalClusterContentDeleter;
let resolver: DefinitionResolver;
/** Called by admission for each write. */
let admission: (attributes: AdmissionAttributes) => Promise<void> | undefined;
let uids = 0;

beforeEach(async () => {
  admission = () => undefined;
  const builtIn = builtInResources();
  cache = openWatchCache({}, { storage: new MemoryStorage(), clock: systemClock, onError: () => undefined });
  await cache.ready;
  const decoded = new DecodedObjects({ maxBytes: 1 << 20 });
  const reader = new ObjectReader({ decoded });
  resolver = new DefinitionResolver({ cache, reader, builtIn, definitionsOf: () => [] });
  resolver.start();
  const plugin = {
    name: 'Test',
    handles: () => true,
    validate: (attributes: AdmissionAttributes) => admission(attributes),
  };
  const store = new ObjectStore({
    cache,
    decoded,
    reader,
    resolver,
    admission: new AdmissionChain([plugin]),
    clock: systemClock,
    newUid: () => `uid-${++uids}`,
  });
  content = new LogicalClusterContentDeleter({ store, resolver, builtIn });
});
afterEach(async () => {
  resolver.stop();
  await cache.close();
});

/** Stores an object as it is. */
async function put(
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  metadata: Partial<KubeObject['metadata']>,
  rest: object = {},
): Promise<KubeObject> {
  const definition = resolver.resolve(cluster, resource.group, resource.version, resource.resource);
  if (definition?.storage === undefined) throw new Error(`${resource.resource} is not stored`);
  const object: KubeObject = {
    apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
    kind: definition.kind,
    metadata: {
      uid: `uid-${++uids}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { [clusterAnnotation]: cluster },
      ...metadata,
    },
    ...rest,
  };
  const { namespace = '', name = '' } = object.metadata;
  const key = objectKey(definition.storage.prefix, { cluster, namespace, name });
  const revision = await cache.create(key, encodeForStorage(object));
  await cache.freshRevision();
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** `<resource>/<rest of the key after the cluster>` of all objects of a cluster, sorted. */
function held(cluster = tenant): string[] {
  return cache
    .snapshot(registryPrefix)
    .entries(undefined, Number.POSITIVE_INFINITY)
    .map(({ key }) => key.split('/').slice(3))
    .filter((parts) => parts.includes(cluster))
    .map((parts) => [parts[0], ...parts.slice(parts.indexOf(cluster) + 1)].join('/'));
}

const metadataAt = (key: string): KubeObject['metadata'] => {
  const entry = cache
    .snapshot(registryPrefix)
    .entries(undefined, Number.POSITIVE_INFINITY)
    .find((one) => one.key.endsWith(key));
  return (JSON.parse(String(entry?.value)) as KubeObject).metadata;
};

/** The default objects of a workspace and some user objects. */
async function furnish(): Promise<KubeObject> {
  const object = await put(logicalClusters, tenant, {
    name: 'cluster',
    finalizers: [logicalClusterFinalizer],
    deletionTimestamp: '2026-01-01T00:00:00Z',
  });
  for (const name of ['default', 'kube-system']) {
    await put(namespaces, tenant, { name }, { spec: { finalizers: ['kubernetes'] } });
    await put(configMaps, tenant, { namespace: name, name: 'settings' }, { data: { text: 'x' } });
  }
  await put(apiBindings, tenant, { name: 'bound', finalizers: [apiBindingFinalizer] });
  await put(roleBindings, tenant, { name: 'workspace-admin' });
  return object;
}

describe('deleting the content of a logical cluster', () => {
  test('removes objects without finalizers, and bindings and RBAC last', async () => {
    const object = await furnish();
    await put(configMaps, other, { namespace: 'default', name: 'settings' });
    const gone: string[] = [];
    cache.subscribe({
      scope: registryPrefix,
      after: cache.revision,
      onEvent: ({ current, previous }) => {
        if (current === undefined) gone.push((previous?.key ?? '').split('/')[3] ?? '');
      },
      onEnd: () => undefined,
    });
    expect(await content.empty(tenant)).toBe('nothing');
    expect(held()).toEqual(['logicalclusters/cluster']);
    expect(held(other)).toEqual(['configmaps/default/settings']);
    expect(gone).toEqual([
      'configmaps',
      'configmaps',
      'namespaces',
      'namespaces',
      'apibindings',
      'clusterrolebindings',
    ]);

    await content.release(logicalClusters, tenant, object);
    expect(held()).toEqual([]);
  });

  test('marks objects with finalizers as deleted, and keeps bindings and RBAC', async () => {
    await furnish();
    await put(configMaps, tenant, { namespace: 'default', name: 'kept', finalizers: ['example.dev/hold'] });
    await put(webhooks, tenant, { name: 'held', finalizers: ['example.dev/hold'] });
    for (let round = 0; round < 2; round++) {
      expect(await content.empty(tenant)).toBe('held');
      expect(held().sort()).toEqual([
        'apibindings/bound',
        'clusterrolebindings/workspace-admin',
        'configmaps/default/kept',
        'logicalclusters/cluster',
        'namespaces/default',
        'validatingwebhookconfigurations/held',
      ]);
    }
    for (const key of ['tenant/default/kept', 'namespaces/tenant/default', 'tenant/held'])
      expect(metadataAt(key).deletionTimestamp).toBeDefined();
    expect(metadataAt('tenant/bound').deletionTimestamp).toBeUndefined();
  });

  test('runs admission, and keeps objects whose deletion is rejected', async () => {
    await furnish();
    admission = ({ operation, definition, oldObject }) => {
      if (operation === 'DELETE' && definition.resource === 'configmaps' && oldObject?.metadata.namespace === 'default')
        throw statusErrors.forbidden(definition, 'settings', 'not this one');
      return undefined;
    };
    expect(await content.empty(tenant)).toBe('failed');
    expect(held().sort()).toEqual([
      'apibindings/bound',
      'clusterrolebindings/workspace-admin',
      'configmaps/default/settings',
      'logicalclusters/cluster',
      'namespaces/default',
    ]);
  });

  test('reports an empty cluster only if nothing was created meanwhile', async () => {
    await furnish();
    let came = false;
    admission = async ({ operation, definition }) => {
      if (came || operation !== 'DELETE' || definition.resource !== 'namespaces') return;
      came = true;
      await put(configMaps, tenant, { namespace: 'default', name: 'late' });
    };
    expect(await content.empty(tenant)).not.toBe('nothing');
    expect(held().sort()).toEqual([
      'clusterrolebindings/workspace-admin',
      'configmaps/default/late',
      'logicalclusters/cluster',
    ]);
    expect(await content.empty(tenant)).toBe('nothing');
    expect(held()).toEqual(['logicalclusters/cluster']);
  });

  test.each([[undefined], [['example.org/cleanup']]])(
    'removes an object that was created while its binding was removed (finalizers: %j)',
    async (finalizers) => {
      await furnish();
      const key = `${registryPrefix}example.org/widgets/identity/${tenant}/late`;
      const widget = {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: {
          name: 'late',
          uid: 'late',
          creationTimestamp: '2026-01-01T00:00:00Z',
          annotations: { [clusterAnnotation]: tenant },
          finalizers,
        },
      } as KubeObject;
      admission = async ({ definition }) => {
        // A controller whose informer is behind.
        if (definition.resource === apiBindings.resource) await cache.create(key, encodeForStorage(widget));
      };
      expect(await content.empty(tenant)).toBe('failed');
      expect(held()).toContain('widgets/late');
      expect(await content.empty(tenant)).toBe('nothing');
      expect(held()).toEqual(['logicalclusters/cluster']);
    },
  );

  test('leaves a binding with applied permission claims to its controller', async () => {
    await put(
      apiBindings,
      tenant,
      { name: 'claimed', finalizers: [apiBindingFinalizer] },
      { status: { appliedPermissionClaims: [{ resource: 'configmaps', identityHash: '', verbs: ['*'] }] } },
    );
    expect(await content.empty(tenant)).toBe('held');
    expect(metadataAt('tenant/claimed').deletionTimestamp).toBeDefined();
  });
});

test('does not release an object that has changed', async () => {
  const object = await furnish();
  const { storage } = resolver.resolve(tenant, 'core.kcp.io', 'v1alpha1', 'logicalclusters') ?? {};
  const key = objectKey(storage?.prefix ?? '', { cluster: tenant, namespace: '', name: 'cluster' });
  const changed = { ...object, metadata: { ...object.metadata, finalizers: ['example.dev/hold'] } };
  await cache.update(key, encodeForStorage(changed), Number(object.metadata.resourceVersion));
  await expect(content.release(logicalClusters, tenant, object)).rejects.toMatchObject({ reason: 'Conflict' });
  expect(held()).toContain('logicalclusters/cluster');
});

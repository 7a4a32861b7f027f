import { expect, test } from '@jest/globals';
import { CacheInformerFactory, DecodedObjects, encodeForStorage, ObjectReader } from '@multiplane/apiserver';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import { InformerSyncTracker, GlobalInformerSource } from '@multiplane/client';
import { parseOptions } from '@multiplane/component-base';
import { MemoryStorage, objectKey, openWatchCache, type WatchCache } from '@multiplane/storage';
import { authorizationOptionTable } from '../authorization-options.ts';
import { LogicalClusterIndex } from '../logical-cluster-index.ts';
import { shardAuthorization } from './shard-authorization.ts';
import { FakeClock } from '@multiplane/testing';

const builtIn = builtInResources();

/** Informers over these objects; the annotation names the logical cluster of each. */
async function informersOf(objects: readonly KubeObject[]): Promise<[CacheInformerFactory, WatchCache]> {
  const storage = new MemoryStorage();
  for (const object of objects) {
    const definition = builtIn.find(({ kind }) => kind === object.kind);
    const { name = '', annotations } = object.metadata;
    const cluster = annotations?.['kcp.io/cluster'] as LogicalClusterName;
    await storage.create(
      objectKey(definition?.storage?.prefix ?? '', { cluster, namespace: '', name }),
      encodeForStorage(object),
    );
  }
  const cache = openWatchCache({}, { storage, clock: new FakeClock(), onError: () => {} });
  await cache.ready;
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
  return [new CacheInformerFactory({ cache, reader, builtIn }), cache];
}

/** A logical cluster and RBAC for one user to access it and to use its types. */
function sharedCluster(cluster: string, userName: string, shard?: string): KubeObject[] {
  const metadata = (name: string): KubeObject['metadata'] => ({
    name,
    uid: '00000000-0000-4000-8000-000000000000',
    creationTimestamp: '2026-01-01T00:00:00Z',
    annotations: { 'kcp.io/cluster': cluster, ...(shard === undefined ? {} : { 'kcp.io/shard': shard }) },
  });
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  return [
    {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: metadata('cluster'),
      status: { phase: 'Ready' },
    },
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: metadata(`role-${userName}`),
      rules: [
        { nonResourceURLs: ['/'], verbs: ['access'] },
        { apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['use'] },
      ],
    },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: metadata(`binding-${userName}`),
      subjects: [{ apiGroup, kind: 'User', name: userName }],
      roleRef: { apiGroup, kind: 'ClusterRole', name: `role-${userName}` },
    },
  ];
}

test('reviews use replicated RBAC, requests only local RBAC, and replicated objects cannot replace local ones', async () => {
  const [local, localCache] = await informersOf(sharedCluster('here', 'alice'));
  const [cached, cachedCache] = await informersOf([
    ...sharedCluster('far', 'bob', 'west'),
    ...sharedCluster('here', 'mallory', 'west'),
  ]);
  const clusters = new LogicalClusterIndex({ shardName: 'east' }, { informers: local });
  const globalInformers = new GlobalInformerSource(
    { localShard: 'east', isLocalCluster: (cluster) => clusters.object(cluster) !== undefined },
    { local, cached },
  );
  const { requests, reviews } = shardAuthorization(
    { ...parseOptions(authorizationOptionTable, { args: [] }).values, authorizationAlwaysAllowPaths: [] },
    {
      informers: new InformerSyncTracker({ source: local }),
      globalInformers,
      clusters,
      types: { byPathAndName: () => undefined },
      bindings: { boundResource: () => undefined },
      resolver: { list: () => builtIn },
      clock: new FakeClock(),
    },
  );
  const decisions = async (name: string, cluster: string): Promise<string[]> =>
    Promise.all(
      [requests, reviews].map(
        async (authorizer) =>
          (
            await authorizer.authorize({
              user: { name, uid: '', groups: ['system:authenticated'], extra: {} },
              cluster: cluster as LogicalClusterName,
              verb: 'use',
              isResourceRequest: true,
              group: 'tenancy.kcp.io',
              version: 'v1alpha1',
              namespace: '',
              resource: 'workspacetypes',
              subresource: '',
              name: 'team',
              path: '',
            })
          ).decision,
      ),
    );
  expect(await decisions('alice', 'here')).toEqual(['allow', 'allow']);
  expect(await decisions('bob', 'far')).toEqual(['noOpinion', 'allow']);
  expect(await decisions('alice', 'far')).toEqual(['noOpinion', 'noOpinion']);
  expect(await decisions('mallory', 'here')).toEqual(['noOpinion', 'noOpinion']);
  await Promise.all([localCache.close(), cachedCache.close()]);
});

test('shards can read the parameter kinds of policies in force on other shards, and nothing else', async () => {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = (name: string): KubeObject['metadata'] => ({
    name,
    uid: '00000000-0000-4000-8000-000000000001',
    creationTimestamp: '2026-01-01T00:00:00Z',
    annotations: { 'kcp.io/cluster': 'here' },
  });
  const policy = (name: string, kind: string): KubeObject => ({
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: metadata(name),
    spec: { paramKind: { apiVersion: 'v1', kind }, validations: [{ expression: 'true' }] },
  });
  const binding = (policyName: string, paramRef?: object): KubeObject => ({
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: metadata(policyName),
    spec: { policyName, validationActions: ['Deny'], ...(paramRef === undefined ? {} : { paramRef }) },
  });
  const paramRef = { name: 'limits', parameterNotFoundAction: 'Deny' };
  const [informers, cache] = await informersOf([
    ...sharedCluster('here', 'alice'),
    policy('bound', 'ConfigMap'),
    binding('bound', paramRef),
    policy('without-parameters', 'Event'),
    binding('without-parameters'),
    policy('not-in-force', 'Endpoints'),
  ]);
  const { requests, reviews } = shardAuthorization(
    { ...parseOptions(authorizationOptionTable, { args: [] }).values, authorizationAlwaysAllowPaths: [] },
    {
      informers: new InformerSyncTracker({ source: informers }),
      globalInformers: informers,
      clusters: new LogicalClusterIndex({ shardName: 'east' }, { informers }),
      types: { byPathAndName: () => undefined },
      bindings: { boundResource: () => undefined },
      resolver: { list: () => builtIn },
      clock: new FakeClock(),
    },
  );
  // Only alice has access; the access of the group is part of the bootstrap policy.
  const may = async (groups: string[], verb: string, resource: string, authorizer = requests): Promise<string> =>
    (
      await authorizer.authorize({
        user: { name: 'alice', uid: '', groups: ['system:authenticated', ...groups], extra: {} },
        cluster: 'here' as LogicalClusterName,
        verb,
        isResourceRequest: true,
        group: '',
        version: 'v1',
        namespace: 'default',
        resource,
        subresource: '',
        name: 'limits',
        path: '',
      })
    ).decision;
  const shard = ['system:kcp:external-logical-cluster-admin'];
  expect(await Promise.all(['get', 'list', 'watch', 'update'].map((verb) => may(shard, verb, 'configmaps')))).toEqual([
    'allow',
    'allow',
    'noOpinion',
    'noOpinion',
  ]);
  for (const resource of ['events', 'endpoints', 'pods']) expect(await may(shard, 'get', resource)).toBe('noOpinion');
  expect(await may([], 'get', 'configmaps')).toBe('noOpinion');
  expect(await may(shard, 'get', 'configmaps', reviews)).toBe('noOpinion');
  await cache.close();
});

import { afterEach, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindingFinalizer, apiBindings } from '@multiplane/apis';
import { eventually } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { WorkspaceServer } from '../../test/workspace-server.ts';
import {
  logicalClusterFinalizer,
  logicalClusterObjectName,
  logicalClusters,
  workspaceFinalizer,
  workspaces,
  type LogicalCluster,
} from './kinds.ts';

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const clusterRoleBindings = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings' };
const parent = 'parent' as LogicalClusterName;
const tenant = 'tenant' as LogicalClusterName;
const inTenant: readonly GroupVersionResource[] = [
  logicalClusters,
  core('namespaces'),
  core('configmaps'),
  core('serviceaccounts'),
  apiBindings,
  clusterRoleBindings,
];

let api: FakeApi;
let server: WorkspaceServer | undefined;

async function start(writes?: number): Promise<void> {
  server = await WorkspaceServer.start(api, writes);
}
async function stop(): Promise<void> {
  await server?.stop();
  server = undefined;
}

const put = (resource: GroupVersionResource, cluster: LogicalClusterName, object: Partial<KubeObject>): KubeObject =>
  api.put(resource, cluster, { apiVersion: 'v1', kind: 'Thing', metadata: {}, ...object });

/** Creates a Ready workspace with system objects and user content. */
function setUp(terminators: readonly string[] = []): void {
  api = new FakeApi();
  const { uid = '' } = put(workspaces, parent, {
    metadata: {
      name: 'w',
      annotations: { 'core.kcp.io/shard': 'root', 'internal.tenancy.kcp.io/cluster': tenant },
      labels: { 'tenancy.kcp.io/phase': 'Ready' },
      finalizers: [workspaceFinalizer],
    },
    spec: { cluster: tenant, URL: 'https://host/clusters/root:w' },
    status: { phase: 'Ready' },
  }).metadata;
  put(logicalClusters, tenant, {
    metadata: {
      name: logicalClusterObjectName,
      annotations: { 'core.kcp.io/shard': 'root' },
      labels: { 'tenancy.kcp.io/phase': 'Ready' },
      finalizers: [logicalClusterFinalizer, ...(terminators.length === 0 ? [] : ['kcp.io/has-terminators'])],
    },
    spec: { owner: { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: 'w', cluster: parent, uid } },
    status: {
      phase: 'Ready',
      URL: 'https://host/clusters/tenant',
      ...(terminators.length === 0 ? {} : { terminators: [...terminators] }),
    },
  });
  for (const name of ['default', 'kube-system']) {
    put(core('namespaces'), tenant, {
      metadata: { name, finalizers: ['kubernetes'] },
      spec: { finalizers: ['kubernetes'] },
    });
    put(core('serviceaccounts'), tenant, { metadata: { name: 'default', namespace: name } });
    for (const map of ['a', 'b', 'c']) put(core('configmaps'), tenant, { metadata: { name: map, namespace: name } });
  }
  for (const name of ['x', 'y']) put(apiBindings, tenant, { metadata: { name, finalizers: [apiBindingFinalizer] } });
  put(clusterRoleBindings, tenant, { metadata: { name: 'workspace-admin' } });
}
const deleteWorkspace = (): void => api.remove(workspaces, { cluster: parent, namespace: '', name: 'w' });
const untilDeleted = (): Promise<void> =>
  eventually(() => {
    expect(api.get(workspaces, parent, 'w')).toBeUndefined();
    expect(inTenant.flatMap((resource) => api.all(resource, tenant))).toEqual([]);
  });

afterEach(stop);

describe('a deleted workspace', () => {
  test('is removed with its content after a crash before any write', async () => {
    setUp();
    await start();
    deleteWorkspace();
    await untilDeleted();
    await stop();
    const writes = api.writes.length;
    expect(writes).toBeGreaterThan(10);
    for (let survived = 0; survived < writes; survived++) {
      setUp();
      await start(survived);
      deleteWorkspace();
      await eventually(() => expect(api.writes.length).toBe(survived));
      await stop();
      await start();
      await untilDeleted();
      await stop();
    }
  }, 120_000);

  test('keeps its content until its terminators are removed', async () => {
    setUp(['root:ending']);
    await start();
    deleteWorkspace();
    await eventually(() =>
      expect(api.get<LogicalCluster>(logicalClusters, tenant, logicalClusterObjectName)?.status?.phase).toBe(
        'Terminating',
      ),
    );
    expect(api.all(core('configmaps'), tenant)).toHaveLength(6);
    const object = api.get<LogicalCluster>(logicalClusters, tenant, logicalClusterObjectName) as LogicalCluster;
    const { terminators: _terminators, ...status } = object.status ?? {};
    api.put(logicalClusters, tenant, { ...object, status });
    await untilDeleted();
  });

  test('does not report a deletion that completes in a moment', async () => {
    setUp();
    await start();
    deleteWorkspace();
    await untilDeleted();
    const writes = api.writes.filter((write) => write.includes(' logicalclusters '));
    // The delete request and the final removal.
    expect(writes).toHaveLength(2);
  });
});

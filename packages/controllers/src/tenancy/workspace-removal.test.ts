import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindingFinalizer,
  apiBindings,
  apiExports,
  apiResourceSchemas,
  type APIExport,
  type APIResourceSchema,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger, systemClock, type Clock, type Runnable } from '@multiplane/component-base';
import { eventually } from '@multiplane/testing';
import { apiBindingDeletionController } from '../apis/api-binding-deletion-controller.ts';
import { namespaceController } from '../core/namespace-controller.ts';
import { FakeApi } from '../test-support/fake-api.ts';
import { DefaultBindingWriter } from './default-binding-writer.ts';
import {
  logicalClusterFinalizer,
  logicalClusterObjectName,
  logicalClusters,
  workspaceFinalizer,
  workspaces,
  workspaceTypes,
  type LogicalCluster,
  type WorkspaceType,
} from './kinds.ts';
import { logicalClusterController } from './logical-cluster-controller.ts';
import { workspaceControllers } from './workspace-controller.ts';

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

/** The process is gone: whatever it would write from now on is lost. */
class Killed extends Error {
  override readonly name = 'Killed';
}

/** Everything happens in the moment at which the API marks what is deleted. */
const clock: Clock = {
  now: () => Date.parse('2026-01-01T00:00:00Z'),
  monotonic: () => systemClock.monotonic(),
  after: (milliseconds, callback) => systemClock.after(milliseconds, callback),
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds, signal),
};

let api: FakeApi;
let running: Runnable[];

/** A server's controllers for everything that takes part in a removal; `writes` until it is killed. */
async function start(writes = Number.POSITIVE_INFINITY): Promise<void> {
  let left = writes;
  const { informers } = api;
  const mortal: FakeApi['client'] = new Proxy(api.client, {
    get(client, verb: keyof FakeApi['client']) {
      return (...args: unknown[]) => {
        const isWrite = verb !== 'get' && verb !== 'list';
        if (isWrite && left-- <= 0) return Promise.reject(new Killed(`before a ${verb}`));
        const [, , object, options] = args as [unknown, unknown, KubeObject, { subresource?: string } | undefined];
        // What the registry does with a namespace that has nothing to wait for.
        if (verb === 'update' && options?.subresource === 'finalize') object.metadata.finalizers = [];
        return (client[verb] as (...all: unknown[]) => Promise<unknown>)(...args);
      };
    },
  });
  const modules = { informers, globalInformers: informers, client: mortal, clock, logger: silentLogger };
  const types = new PathAndNameIndex({ informer: informers.informer<WorkspaceType>(workspaceTypes) });
  const exports = new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) });
  const options = {
    shardName: 'root',
    externalUrl: () => 'https://host',
    randomBytes: (size: number) => Buffer.alloc(size),
    random: () => 0,
  };
  const defaultBindings = new DefaultBindingWriter({
    ...modules,
    types,
    exports,
    schema: (cluster, name) =>
      informers.informer<APIResourceSchema>(apiResourceSchemas).get({ cluster, namespace: '', name }),
    createBinding: (cluster, binding) => mortal.create(apiBindings, cluster, binding),
  });
  const at = (cluster: LogicalClusterName) => ({ cluster, namespace: '', name: logicalClusterObjectName });
  running = [
    ...workspaceControllers(options, {
      ...modules,
      types,
      exports,
      logicalClusters: {
        isLocal: () => true,
        get: async (_shard, cluster) => informers.informer<LogicalCluster>(logicalClusters).get(at(cluster)),
        create: async (_shard, cluster, object) => await mortal.create(logicalClusters, cluster, object),
        delete: (_shard, cluster) => mortal.delete(logicalClusters, at(cluster)),
      },
      health: { isAlive: () => true, load: () => 0, onRelief: () => undefined },
      mayUse: () => true,
      pathOf: () => 'root',
      confirmShard: () => Promise.resolve({} as KubeObject),
    }),
    logicalClusterController(options, { ...modules, defaultBindings, tellOwner: () => Promise.resolve() }),
    namespaceController(modules),
    apiBindingDeletionController(modules),
  ];
  for (const one of running) await one.start();
}
async function stop(): Promise<void> {
  await Promise.all(running.map((one) => one.stop()));
  running = [];
}

const put = (resource: GroupVersionResource, cluster: LogicalClusterName, object: Partial<KubeObject>): KubeObject =>
  api.put(resource, cluster, { apiVersion: 'v1', kind: 'Thing', metadata: {}, ...object });

/** A ready workspace with what every one has, and something of its users'. */
function furnish(terminators: readonly string[] = []): void {
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
const askToGo = (): void => api.remove(workspaces, { cluster: parent, namespace: '', name: 'w' });
const gone = (): Promise<void> =>
  eventually(
    () => {
      expect(api.get(workspaces, parent, 'w')).toBeUndefined();
      expect(inTenant.flatMap((resource) => api.all(resource, tenant))).toEqual([]);
    },
    { timeout: 20_000 },
  );

beforeEach(() => {
  running = [];
});
afterEach(stop);

describe('a workspace that is deleted', () => {
  test('goes with all it holds, wherever the server is killed on the way', async () => {
    furnish();
    await start();
    askToGo();
    await gone();
    await stop();
    const writes = api.writes.length;
    expect(writes).toBeGreaterThan(10);
    for (let survived = 0; survived < writes; survived++) {
      furnish();
      await start(survived);
      askToGo();
      await eventually(() => expect(api.writes.length).toBe(survived));
      await stop();
      await start();
      await gone();
      await stop();
    }
  }, 60_000);

  test('waits for its terminators with everything in place, and goes when they are through', async () => {
    furnish(['root:ending']);
    await start();
    askToGo();
    await eventually(() =>
      expect(api.get<LogicalCluster>(logicalClusters, tenant, logicalClusterObjectName)?.status?.phase).toBe(
        'Terminating',
      ),
    );
    expect(api.all(core('configmaps'), tenant)).toHaveLength(6);
    const object = api.get<LogicalCluster>(logicalClusters, tenant, logicalClusterObjectName) as LogicalCluster;
    const { terminators: _terminators, ...status } = object.status ?? {};
    api.put(logicalClusters, tenant, { ...object, status });
    await gone();
  });

  test('says nothing of what is over in a moment', async () => {
    furnish();
    await start();
    askToGo();
    await gone();
    const ofTenant = api.writes.filter((write) => write.includes(' logicalclusters '));
    // Asked to go, its phase, and its end.
    expect(ofTenant).toHaveLength(3);
  });
});

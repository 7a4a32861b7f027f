import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  isStatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { embedCacheServer } from '@multiplane/cache-server';
import { initClusterPki } from '@multiplane/component-base/pki';
import { eventually, freePorts, TcpProxy, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const kcp = (group: string, resource: string): GroupVersionResource => ({ group, version: 'v1alpha1', resource });
const workspaces = kcp('tenancy.kcp.io', 'workspaces');
const logicalClusters = kcp('core.kcp.io', 'logicalclusters');
const shards = kcp('core.kcp.io', 'shards');
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const leases: GroupVersionResource = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
const root = 'root' as LogicalClusterName;

type Workspace = KubeObject & {
  spec?: { cluster?: LogicalClusterName; URL?: string };
  status?: { phase?: string; conditions?: { type: string; status: string; reason?: string; message?: string }[] };
};

/** The root shard with an embedded cache server, and a second shard that uses it. */
describe('workspaces on two shards', () => {
  let pki: TempDir;
  let folder: TempDir;
  let ports: [number, number];
  /** Proxies from the second shard to the first, and from the first to the second. */
  let home: TcpProxy;
  let road: TcpProxy;
  let first: InProcessShard;
  let second: InProcessShard;

  const flags = (name: string, port: number, url = `https://127.0.0.1:${port}`): string[] => [
    `--shard-name=${name}`,
    `--shard-base-url=${url}`,
    `--shard-external-url=${url}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${pki.join(`shard-${name}/tls.crt`)}`,
    `--tls-private-key-file=${pki.join(`shard-${name}/tls.key`)}`,
    `--root-ca-file=${pki.join('serving-ca.crt')}`,
    `--client-ca-file=${pki.join('client-ca.crt')}`,
    `--requestheader-client-ca-file=${pki.join('requestheader-ca.crt')}`,
    `--service-account-private-key-file=${pki.join('service-account.key')}`,
    // Both kinds of credentials for other shards: of a peer administrator, and of the dedicated identity.
    name === 'root'
      ? `--shard-kubeconfig-file=${pki.join('shard-root.kubeconfig')}`
      : `--logical-cluster-admin-kubeconfig=${pki.join('logical-cluster-admin.kubeconfig')}`,
  ];
  const startSecond = (): Promise<InProcessShard> =>
    InProcessShard.start(
      [
        ...flags('east', ports[1], `https://127.0.0.1:${road.port}`),
        `--root-shard-kubeconfig-file=${pki.join('root-shard.kubeconfig')}`,
        `--cache-kubeconfig=${pki.join('shard-root.kubeconfig')}`,
      ],
      folder,
    );

  beforeAll(async () => {
    pki = await TempDir.create('pki');
    folder = await TempDir.create('east');
    ports = (await freePorts(2)) as [number, number];
    home = await TcpProxy.start(ports[0]);
    road = await TcpProxy.start(ports[1]);
    const [rootUrl, eastUrl] = [home.port, road.port].map((port) => `https://127.0.0.1:${port}`) as [string, string];
    await initClusterPki({
      directory: pki.path,
      shardUrls: { root: rootUrl, east: eastUrl },
      externalUrl: rootUrl,
      frontProxyUrl: rootUrl,
      cacheUrl: rootUrl,
      hosts: [],
      days: 2,
      authorityDays: 2,
    });
    first = await InProcessShard.start([...flags('root', ports[0]), '--storage-backend=memory'], undefined, [
      embedCacheServer({ version: 'test', storage: 'memory' }),
    ]);
    second = await startSecond();
  }, 120_000);
  afterAll(async () => {
    await second.stop();
    await first[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
    await road[Symbol.asyncDispose]();
    await folder.remove();
    await pki.remove();
  });

  const at = (name: string, cluster: LogicalClusterName = root) => ({ cluster, namespace: '', name });
  const create = (name: string, shard: string, on = first, parent = root): Promise<Workspace> =>
    on.client.create(workspaces, parent, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      spec: { type: { name: 'universal', path: 'root' }, location: { selector: { matchLabels: { name: shard } } } },
    });
  const inPhase = (name: string, phase: string, on = first, parent = root): Promise<Workspace> =>
    eventually(async () => {
      const workspace: Workspace = await on.client.get(workspaces, at(name, parent));
      expect(workspace.status?.phase).toBe(phase);
      return workspace;
    });
  const cluster = (on: InProcessShard, name: LogicalClusterName | undefined): Promise<KubeObject> =>
    on.client.get(logicalClusters, at('cluster', name));
  const gone = (read: () => Promise<unknown>): Promise<void> =>
    eventually(async () => {
      const found = await read().catch((error: unknown) => {
        if (isStatusError(error, 'NotFound')) return undefined;
        throw error;
      });
      expect(found).toBeUndefined();
    });

  test('both register and renew their leases', async () => {
    const list = await first.client.list(shards, { cluster: root });
    expect(list.items.map(({ metadata, spec }) => [metadata.name, metadata.labels, spec])).toEqual(
      [
        ['east', road.port],
        ['root', ports[0]],
      ].map(([name, port]) => {
        const url = `https://127.0.0.1:${port}`;
        return [name, { name }, { baseURL: url, externalURL: url, virtualWorkspaceURL: url }];
      }),
    );
    for (const name of ['root', 'east']) {
      const lease = await eventually(() =>
        first.client.get(leases, { cluster: root, namespace: 'kube-system', name: `shard-${name}` }),
      );
      expect(lease.metadata.annotations?.['multiplane.io/logical-clusters']).toMatch(/^\d+$/);
    }
  });

  test('a shard that creates a logical cluster for another one returns its status with the response', async () => {
    const owner = { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: 'asked', cluster: 'root' };
    let made = 0;
    await eventually(async () => {
      const { status } = (await second.client.create(
        logicalClusters,
        `made-for-another-${made++}` as LogicalClusterName,
        {
          apiVersion: 'core.kcp.io/v1alpha1',
          kind: 'LogicalCluster',
          metadata: { name: 'cluster' },
          spec: { owner: { ...owner, uid: 'none' } },
        },
        { waitSeconds: 5 },
      )) as KubeObject & { status?: { phase?: string } };
      expect(status?.phase).toMatch(/^(Initializing|Ready)$/);
    });
  });

  test('are placed on the selected shard, and look the same to their parents', async () => {
    await create('far', 'east');
    const far = await inPhase('far', 'Ready');
    expect(far.metadata.annotations).toMatchObject({
      'core.kcp.io/shard': 'east',
      'internal.tenancy.kcp.io/cluster': far.spec?.cluster,
    });
    expect(far.spec?.URL).toBe(`https://127.0.0.1:${road.port}/clusters/root:far`);
    expect((await cluster(second, far.spec?.cluster)).metadata.annotations).toMatchObject({
      'core.kcp.io/shard': 'east',
      'kcp.io/path': 'root:far',
    });
    await expect(cluster(first, far.spec?.cluster)).rejects.toThrow('not found');
    // A child workspace on the root shard.
    await create('near', 'root', second, far.spec?.cluster);
    const near = await inPhase('near', 'Ready', second, far.spec?.cluster);
    expect((await cluster(first, near.spec?.cluster)).metadata.annotations?.['kcp.io/path']).toBe('root:far:near');

    await first.client.delete(workspaces, at('far'));
    await gone(() => first.client.get(workspaces, at('far')));
    await gone(() => cluster(second, far.spec?.cluster));
    await gone(() => cluster(first, near.spec?.cluster));
  }, 120_000);

  test('wait for a matching shard', async () => {
    const mergePatch = 'application/merge-patch+json';
    const unschedulable = (value: string | null) => ({
      metadata: { annotations: { 'experimental.core.kcp.io/unschedulable': value } },
    });
    await first.client.patch(shards, at('east'), mergePatch, unschedulable('true'));
    await create('patient', 'east');
    const waiting = await inPhase('patient', 'Unavailable');
    expect(waiting.status?.conditions).toMatchObject([
      {
        type: 'WorkspaceScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: 'No available shards to schedule the workspace',
      },
    ]);
    await first.client.patch(shards, at('east'), mergePatch, unschedulable(null));
    await inPhase('patient', 'Ready');
  }, 120_000);

  test('resume from the stored state after a crash', async () => {
    const chosen = 'chosenbeforecrash' as LogicalClusterName;
    await first.client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: {
        name: 'resumed',
        finalizers: ['core.kcp.io/logicalcluster'],
        annotations: { 'core.kcp.io/shard': 'east', 'internal.tenancy.kcp.io/cluster': chosen },
      },
      spec: { type: { name: 'universal', path: 'root' } },
    });
    expect((await inPhase('resumed', 'Ready')).spec?.cluster).toBe(chosen);
    // A logical cluster name that is taken meanwhile is replaced by another one.
    await first.client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: {
        name: 'collided',
        finalizers: ['core.kcp.io/logicalcluster'],
        annotations: { 'core.kcp.io/shard': 'east', 'internal.tenancy.kcp.io/cluster': chosen },
      },
      spec: { type: { name: 'universal', path: 'root' } },
    });
    expect((await inPhase('collided', 'Ready')).spec?.cluster).not.toBe(chosen);
  }, 120_000);

  test('do not delay others while their shard is unresponsive', async () => {
    road.pause();
    const names = Array.from({ length: 40 }, (_, i) => `silent-${i}`);
    for (const name of names) await create(name, 'east');
    await create('lively', 'root');
    await inPhase('lively', 'Ready');
    const phases = await Promise.all(
      names.map(async (name) => ((await first.client.get(workspaces, at(name))) as Workspace).status?.phase),
    );
    expect(phases).not.toContain('Ready');
    road.resume();
    for (const name of names) await inPhase(name, 'Ready');
  }, 120_000);

  test('are served by a shard that starts while the root shard is down', async () => {
    await create('steady', 'east');
    const steady = await inPhase('steady', 'Ready');
    await second.stop();
    home.refuse();
    home.cut();
    second = await startSecond();
    const configMap: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', namespace: 'default' },
    };
    await second.client.create(configMaps, steady.spec?.cluster as LogicalClusterName, configMap);
    const renewed = async (): Promise<unknown> =>
      (await first.client.get(leases, { cluster: root, namespace: 'kube-system', name: 'shard-east' }))['spec'];
    const before = await renewed();
    home.accept();
    await eventually(async () => expect(await renewed()).not.toEqual(before));
    // It sees the other shards again, and can schedule workspaces itself.
    await create('below', 'root', second, steady.spec?.cluster);
    await inPhase('below', 'Ready', second, steady.spec?.cluster);
  }, 120_000);

  test('are deleted once their shard is back', async () => {
    await create('orphan', 'east');
    const orphan = await inPhase('orphan', 'Ready');
    await second.client.create(configMaps, orphan.spec?.cluster as LogicalClusterName, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kept', namespace: 'default' },
    });
    await second.stop();
    await first.client.delete(workspaces, at('orphan'));
    // The parent's shard must not treat the unreachable logical cluster as deleted.
    await create('meanwhile', 'root');
    await inPhase('meanwhile', 'Ready');
    expect((await first.client.get(workspaces, at('orphan'))).metadata.deletionTimestamp).toBeDefined();
    second = await startSecond();
    await gone(() => first.client.get(workspaces, at('orphan')));
    await gone(() => cluster(second, orphan.spec?.cluster));
  }, 120_000);

  test('are removed with a decommissioned shard', async () => {
    await create('lost', 'east');
    await inPhase('lost', 'Ready');
    await second.stop();
    await first.client.delete(shards, at('east'));
    await gone(() => first.client.get(leases, { cluster: root, namespace: 'kube-system', name: 'shard-east' }));
    const lost = await inPhase('lost', 'Unavailable');
    expect(lost.status?.conditions?.find(({ type }) => type === 'WorkspaceScheduled')).toMatchObject({
      reason: 'Unschedulable',
      message: 'chosen shard "east" does not exist anymore: shards.core.kcp.io "east" not found',
    });
    await first.client.delete(workspaces, at('lost'));
    await gone(() => first.client.get(workspaces, at('lost')));
    // It registers again when it starts.
    second = await startSecond();
    await create('found', 'east');
    await inPhase('found', 'Ready');
  }, 120_000);
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  isStatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { openFileStorage } from '@multiplane/storage';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const kcp = (group: string, resource: string, version = 'v1alpha1'): GroupVersionResource => ({
  group: `${group}.kcp.io`,
  version,
  resource,
});
const workspaces = kcp('tenancy', 'workspaces');
const workspaceTypes = kcp('tenancy', 'workspacetypes');
const logicalClusters = kcp('core', 'logicalclusters');
const crds = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const rbac = (resource: string): GroupVersionResource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
});
const root = 'root' as LogicalClusterName;

let shard: InProcessShard;
beforeAll(async () => {
  shard = await InProcessShard.start([]);
}, 120_000);
afterAll(() => shard[Symbol.asyncDispose]());

type Workspace = KubeObject & {
  readonly spec?: { readonly cluster?: LogicalClusterName };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
};

const workspaceNamed = (name: string, spec: object = {}): KubeObject => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name },
  spec,
});
const read = async (name: string, parent = root): Promise<Workspace> =>
  await shard.client.get(workspaces, { cluster: parent, namespace: '', name });

/** Waits for the phase of a workspace; resolves to its logical cluster. */
const reached = (phase: string, name: string, parent = root): Promise<LogicalClusterName> =>
  eventually(async () => {
    const { spec, status } = await read(name, parent);
    expect(status?.phase).toBe(phase);
    return spec?.cluster as LogicalClusterName;
  });
const gone = (name: string): Promise<void> =>
  eventually(async () => {
    await expect(read(name)).rejects.toThrow('not found');
  });

describe('a workspace', () => {
  test('that is created concurrently is created once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        shard.client.create(workspaces, root, workspaceNamed('wanted')).catch((error: unknown) => error),
      ),
    );
    const refused = answers.filter((answer) => isStatusError(answer, 'AlreadyExists'));
    expect(refused).toHaveLength(19);
    const made = answers.find((answer) => !isStatusError(answer)) as KubeObject;
    const cluster = await reached('Ready', 'wanted');
    expect((await read('wanted')).metadata.uid).toBe(made.metadata.uid);
    const { items } = await shard.client.list(logicalClusters, { cluster: '*' });
    const ofIt = items.filter(({ spec }) => (spec as { owner?: { name?: string } }).owner?.name === 'wanted');
    expect(ofIt.map(({ metadata }) => metadata.annotations?.['kcp.io/cluster'])).toEqual([cluster]);
  });

  test('whose type is deleted during initialization reports its initializers, and can be deleted', async () => {
    const type = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'WorkspaceType', metadata: { name: 'brief' } };
    await shard.client.create(workspaceTypes, root, { ...type, spec: { initializer: true } });
    await eventually(() =>
      shard.client.create(workspaces, root, workspaceNamed('left-alone', { type: { name: 'brief', path: 'root' } })),
    );
    await reached('Initializing', 'left-alone');
    await shard.client.delete(workspaceTypes, { cluster: root, namespace: '', name: 'brief' });
    await eventually(async () => {
      const { status } = await read('left-alone');
      expect(status?.conditions?.find(({ type: called }) => called === 'WorkspaceInitialized')?.message).toBe(
        'Initializers still exist: [root:brief]',
      );
    });
    await shard.client.delete(workspaces, { cluster: root, namespace: '', name: 'left-alone' });
    await gone('left-alone');
  });

  test('that is deleted leaves no keys, values or metric series behind', async () => {
    await shard.client.create(workspaces, root, workspaceNamed('outer'));
    const outer = await reached('Ready', 'outer');
    await shard.client.create(workspaces, outer, workspaceNamed('inner'));
    const inner = await reached('Ready', 'inner', outer);
    for (const cluster of [outer, inner]) await furnish(cluster);
    await shard.client.delete(workspaces, { cluster: root, namespace: '', name: 'outer' });
    await gone('outer');
    expect(await metrics()).not.toMatch(new RegExp(`${outer}|${inner}`));

    await shard.stop();
    const storage = await openFileStorage({ directory: shard.directory.join('root', 'data') });
    try {
      const { items } = await storage.list('/');
      expect(items.filter(({ key }) => key.includes(`/${root}/`)).length).toBeGreaterThan(20);
      const traces = items.filter(({ key, value }) =>
        [outer, inner].some((name) => key.includes(name) || value.includes(name)),
      );
      expect(traces.map(({ key }) => key)).toEqual([]);
    } finally {
      await storage.close();
      shard = await InProcessShard.start([], shard.directory);
    }
  });
});

/** One object of each kind that controllers or indexes process. */
async function furnish(cluster: LogicalClusterName): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  await shard.client.create(core('namespaces'), cluster, thing('v1', 'Namespace', 'work'));
  await eventually(() => shard.client.get(core('serviceaccounts'), { cluster, namespace: 'work', name: 'default' }));
  await shard.client.create(core('secrets'), cluster, thing('v1', 'Secret', 'secret', 'work'));
  await shard.client.create(rbac('clusterroles'), cluster, {
    ...thing(`${apiGroup}/v1`, 'ClusterRole', 'binders'),
    rules: [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports'], verbs: ['bind'] }],
  });
  await shard.client.create(rbac('clusterrolebindings'), cluster, {
    ...thing(`${apiGroup}/v1`, 'ClusterRoleBinding', 'binders'),
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'binders' },
    subjects: [{ apiGroup, kind: 'User', name: 'somebody' }],
  });
  await shard.client.create(kcp('apis', 'apiexports', 'v1alpha2'), cluster, {
    ...thing('apis.kcp.io/v1alpha2', 'APIExport', 'nothing.example.dev'),
    spec: {},
  });
  await shard.client.create(crds, cluster, {
    ...thing('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'widgets.example.dev'),
    spec: {
      group: 'example.dev',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  });
  await eventually(() =>
    shard.client.create(
      { group: 'example.dev', version: 'v1', resource: 'widgets' },
      cluster,
      thing('example.dev/v1', 'Widget', 'one', 'work'),
    ),
  );
}

const thing = (apiVersion: string, kind: string, name: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});

async function metrics(): Promise<string> {
  const response = await shard.transport.open({ method: 'GET', path: '/metrics' });
  expect(response.statusCode).toBe(200);
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
  expect(text).toContain('apiserver_request_total');
  return text;
}

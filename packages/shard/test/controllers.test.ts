import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  isStatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { eventually, createWithRetry } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const crds: GroupVersionResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
const workspaces: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const logicalClusters: GroupVersionResource = {
  group: 'core.kcp.io',
  version: 'v1alpha1',
  resource: 'logicalclusters',
};
const root = 'root' as LogicalClusterName;
const configMap = (name: string, namespace: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...more },
});

let shard: InProcessShard;
beforeAll(async () => {
  shard = await InProcessShard.start();
}, 120_000);
afterAll(() => shard[Symbol.asyncDispose]());

const at = (namespace: string, name: string) => ({ cluster: root, namespace, name });
const gone = (
  resource: GroupVersionResource,
  reference: { cluster: LogicalClusterName; namespace: string; name: string },
): Promise<void> =>
  eventually(async () => {
    try {
      await shard.client.get(resource, reference);
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return;
      throw error;
    }
    throw new Error(`${reference.name} is still there`);
  });

async function namespace(name: string): Promise<string> {
  await shard.client.create(core('namespaces'), root, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await eventually(() => shard.client.get(core('serviceaccounts'), at(name, 'default')));
  return name;
}

async function readyWorkspace(name: string, parent = root): Promise<LogicalClusterName> {
  await shard.client.create(workspaces, parent, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name },
  });
  return eventually(async () => {
    const workspace = await shard.client.get(workspaces, { cluster: parent, namespace: '', name });
    const { phase } = (workspace['status'] ?? {}) as { phase?: string };
    if (phase !== 'Ready') throw new Error(`the workspace is ${phase}`);
    return (workspace['spec'] as { cluster: LogicalClusterName }).cluster;
  });
}

describe('namespaces', () => {
  test('get a default service account and the root CA, which are recreated after deletion', async () => {
    const name = await namespace('kept');
    await shard.client.delete(core('serviceaccounts'), at(name, 'default'));
    await eventually(() => shard.client.get(core('serviceaccounts'), at(name, 'default')));
    const map = await eventually(() => shard.client.get(core('configmaps'), at(name, 'kube-root-ca.crt')));
    await shard.client.update(core('configmaps'), root, { ...map, data: { 'ca.crt': 'forged' } });
    await eventually(async () => {
      const { data } = await shard.client.get(core('configmaps'), at(name, 'kube-root-ca.crt'));
      expect((data as { 'ca.crt': string })['ca.crt']).toContain('BEGIN CERTIFICATE');
    });
  });

  test('delete their content, and report in conditions what blocks the deletion', async () => {
    const name = await namespace('emptied');
    await shard.client.create(core('configmaps'), root, configMap('held', name, { finalizers: ['example.com/hold'] }));
    await shard.client.delete(core('namespaces'), at('', name));
    await eventually(async () => {
      const { status } = await shard.client.get(core('namespaces'), at('', name));
      const conditions = (status as { conditions?: { type: string; message: string }[] }).conditions ?? [];
      expect(conditions.find(({ type }) => type === 'NamespaceFinalizersRemaining')?.message).toBe(
        'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
      );
    });
    await shard.client.patch(core('configmaps'), at(name, 'held'), 'application/merge-patch+json', {
      metadata: { finalizers: null },
    });
    await gone(core('namespaces'), at('', name));
  });
});

describe('deleted owners', () => {
  const owned = (name: string, ns: string, owner: KubeObject, blockOwnerDeletion = false): KubeObject =>
    configMap(name, ns, {
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: owner.metadata.name ?? '',
          uid: owner.metadata.uid ?? '',
          blockOwnerDeletion,
        },
      ],
    });

  test('have their dependents deleted transitively', async () => {
    const ns = await namespace('cascade');
    const owner = await shard.client.create(core('configmaps'), root, configMap('a', ns));
    const child = await shard.client.create(core('configmaps'), root, owned('b', ns, owner));
    await shard.client.create(core('configmaps'), root, owned('c', ns, child));
    await shard.client.delete(core('configmaps'), at(ns, 'a'));
    await gone(core('configmaps'), at(ns, 'c'));
    expect((await shard.client.get(core('namespaces'), at('', ns))).metadata.deletionTimestamp).toBeUndefined();
  });

  test('with orphan propagation keep their dependents without the owner reference', async () => {
    const ns = await namespace('orphans');
    const owner = await shard.client.create(core('configmaps'), root, configMap('a', ns));
    await shard.client.create(core('configmaps'), root, owned('b', ns, owner));
    await shard.client.delete(core('configmaps'), at(ns, 'a'), { propagationPolicy: 'Orphan' });
    await gone(core('configmaps'), at(ns, 'a'));
    expect((await shard.client.get(core('configmaps'), at(ns, 'b'))).metadata.ownerReferences).toBeUndefined();
  });

  test('with foreground propagation wait for blocking dependents, also in a cycle', async () => {
    const ns = await namespace('rings');
    const a = await shard.client.create(core('configmaps'), root, configMap('a', ns));
    const b = await shard.client.create(core('configmaps'), root, owned('b', ns, a, true));
    await shard.client.update(core('configmaps'), root, {
      ...(await shard.client.get(core('configmaps'), at(ns, 'a'))),
      metadata: {
        ...a.metadata,
        ownerReferences: [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: b.metadata.uid ?? '', blockOwnerDeletion: true },
        ],
      },
    });
    await shard.client.delete(core('configmaps'), at(ns, 'a'), { propagationPolicy: 'Foreground' });
    await gone(core('configmaps'), at(ns, 'a'));
    await gone(core('configmaps'), at(ns, 'b'));
    expect(
      (await shard.client.list(core('configmaps'), { cluster: root, namespace: ns })).items.map(
        ({ metadata }) => metadata.name,
      ),
    ).toEqual(['kube-root-ca.crt']);
  });

  test('of a kind that is not served do not count as absent', async () => {
    const ns = await namespace('doubt');
    await shard.client.create(
      core('configmaps'),
      root,
      configMap('kept', ns, {
        ownerReferences: [
          { apiVersion: 'none.example.com/v1', kind: 'None', name: 'x', uid: '11111111-2222-3333-4444-555555555555' },
        ],
      }),
    );
    // The garbage collector has run: a dependent of an absent owner has been collected meanwhile.
    await shard.client.create(
      core('configmaps'),
      root,
      configMap('collected', ns, {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '11111111-2222-3333-4444-555555555555' },
        ],
      }),
    );
    await gone(core('configmaps'), at(ns, 'collected'));
    expect((await shard.client.get(core('configmaps'), at(ns, 'kept'))).metadata.name).toBe('kept');
  });
});

describe('service account token secrets', () => {
  test('get a valid token, and are deleted with their service account', async () => {
    const ns = await namespace('tokens');
    await shard.client.create(core('serviceaccounts'), root, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'robot', namespace: ns },
    });
    await shard.client.create(core('secrets'), root, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'robot-token', namespace: ns, annotations: { 'kubernetes.io/service-account.name': 'robot' } },
      type: 'kubernetes.io/service-account-token',
    });
    await eventually(async () => {
      const { data } = await shard.client.get(core('secrets'), at(ns, 'robot-token'));
      expect(Object.keys(data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'token']);
    });
    await shard.client.delete(core('serviceaccounts'), at(ns, 'robot'));
    await gone(core('secrets'), at(ns, 'robot-token'));
  });
});

describe('CustomResourceDefinitions', () => {
  const widgets: GroupVersionResource = { group: 'example.com', version: 'v1', resource: 'widgets' };
  const definition: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };

  test('delete their objects on deletion, and are empty when recreated', async () => {
    const ns = await namespace('widgets');
    const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: ns } };
    await shard.client.create(crds, root, definition);
    await eventually(() => shard.client.create(widgets, root, widget));
    await shard.client.delete(crds, at('', 'widgets.example.com'));
    await gone(crds, at('', 'widgets.example.com'));
    await shard.client.create(crds, root, definition);
    const list = await eventually(() => shard.client.list(widgets, { cluster: root }));
    expect(list.items).toEqual([]);
  });
});

describe('workspaces', () => {
  test('that are deleted right after creation leave no logical cluster behind', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `fleeting-${index}`);
    for (const name of names) {
      await shard.client.create(workspaces, root, {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'Workspace',
        metadata: { name },
      });
      await shard.client.delete(workspaces, at('', name));
    }
    for (const name of names) await gone(workspaces, at('', name));
    const { items } = await shard.client.list(logicalClusters, { cluster: '*' });
    const owners = items.map(({ spec }) => (spec as { owner?: { name: string } }).owner?.name);
    expect(owners.filter((name) => name?.startsWith('fleeting-'))).toEqual([]);
  });

  test('are deleted with all their descendants, and their names can be reused at once', async () => {
    const outer = await readyWorkspace('outer');
    const inner = await readyWorkspace('inner', outer);
    await shard.client.create(core('configmaps'), inner, configMap('secret', 'default'));
    await shard.client.delete(workspaces, at('', 'outer'));
    await gone(workspaces, at('', 'outer'));
    const everything = await shard.client.list(core('configmaps'), { cluster: '*' });
    const clusters = new Set(everything.items.map(({ metadata }) => metadata.annotations?.['kcp.io/cluster']));
    expect([clusters.has(outer), clusters.has(inner)]).toEqual([false, false]);
    const again = await readyWorkspace('outer');
    expect(again).not.toBe(outer);
    await expect(
      shard.client.get(core('configmaps'), { cluster: again, namespace: 'default', name: 'secret' }),
    ).rejects.toThrow('not found');
  });

  test('are annotated when their logical cluster was moved from another shard', async () => {
    const cluster = await readyWorkspace('moved');
    const logicalClusters = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters' };
    const moved = { metadata: { annotations: { 'core.kcp.io/shard': 'other' } } };
    const mergePatch = 'application/merge-patch+json';
    await shard.client.patch(workspaces, at('', 'moved'), mergePatch, moved);
    await shard.client.patch(logicalClusters, { cluster, namespace: '', name: 'cluster' }, mergePatch, moved);
    await eventually(async () => {
      const object = await shard.client.get(logicalClusters, { cluster, namespace: '', name: 'cluster' });
      const owner = await shard.client.get(workspaces, at('', 'moved'));
      for (const { metadata } of [object, owner]) expect(metadata.annotations?.['core.kcp.io/shard']).toBe('root');
      expect(owner.metadata.annotations?.['internal.tenancy.kcp.io/shard']).toBe('1pfxsevk');
      expect((owner['status'] as { phase?: string }).phase).toBe('Ready');
    });
  });

  test('report a finalizer that blocks the deletion of their content', async () => {
    const cluster = await readyWorkspace('stuck');
    await shard.client.create(core('namespaces'), cluster, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'held', finalizers: ['example.com/hold'] },
    });
    await shard.client.delete(workspaces, at('', 'stuck'));
    await eventually(async () => {
      const { status } = await shard.client.get(workspaces, at('', 'stuck'));
      const { phase, conditions = [] } = status as { phase: string; conditions?: { type: string; message?: string }[] };
      expect(phase).toBe('Deleting');
      expect(conditions.find(({ type }) => type === 'WorkspaceContentDeleted')?.message).toContain(
        'example.com/hold in 1 resource instances',
      );
    });
    await shard.client.patch(
      core('namespaces'),
      { cluster, namespace: '', name: 'held' },
      'application/merge-patch+json',
      { metadata: { finalizers: null } },
    );
    await gone(workspaces, at('', 'stuck'));
  });
});

test('two shards in one process are isolated from each other', async () => {
  await using other = await InProcessShard.start();
  await other.client.create(core('namespaces'), root, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'only-there' },
  });
  await expect(shard.client.get(core('namespaces'), at('', 'only-there'))).rejects.toThrow('not found');
});

test('a restart on the embedded store keeps all objects and the token of the shard admin', async () => {
  await using first = await InProcessShard.start([]);
  await createWithRetry(() => first.client.create(core('configmaps'), root, configMap('kept', 'default')));
  await first.stop();
  const second = await InProcessShard.start([], first.directory);
  expect((await second.client.get(core('configmaps'), at('default', 'kept'))).metadata.name).toBe('kept');
  await second.stop();
}, 120_000);

import { pathAnnotation, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapFlowSchemas,
  bootstrapPriorityLevels,
  bootstrapRoleBindings,
  bootstrapRoles,
} from '@multiplane/apis';
import type { InformerFactory, ObjectClient } from '@multiplane/client';
import {
  logicalClusterObjectName,
  logicalClusters,
  ownerAnnotation,
  shardAnnotation,
  typeAnnotation,
  type LogicalCluster,
} from '@multiplane/controllers';
import { rootCluster, systemAdminCluster } from '../logical-cluster-index.ts';
import { reconcileObject } from './reconcile-object.ts';

const rbac = (resource: string): GroupVersionResource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
});
const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
/** `kube-system` holds the Leases of shards. */
const rootNamespaces = ['default', 'kube-system'];
const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

interface BootstrapModules {
  readonly client: ObjectClient;
  readonly informers: InformerFactory;
}

async function applyAll(
  resource: GroupVersionResource,
  objects: readonly KubeObject[],
  lists: readonly string[],
  modules: BootstrapModules,
): Promise<void> {
  await Promise.all(objects.map((object) => reconcileObject(resource, systemAdminCluster, object, lists, modules)));
}

/**
 * The bootstrap RBAC policy of Kubernetes and kcp in `system:admin`, where it applies to every logical cluster (kcp
 * `pkg/authorization/bootstrap/policy.go`).
 */
export async function bootstrapPolicy(modules: BootstrapModules): Promise<void> {
  const apply = (
    resource: GroupVersionResource,
    objects: readonly KubeObject[],
    lists: readonly string[],
  ): Promise<unknown> => applyAll(resource, objects, lists, modules);
  await apply(
    namespaces,
    systemNamespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    [],
  );
  // The aggregation controller owns the rules of aggregated roles.
  const roles = bootstrapClusterRoles();
  await Promise.all([
    apply(
      rbac('clusterroles'),
      roles.filter((role) => role['aggregationRule'] === undefined),
      ['rules'],
    ),
    apply(
      rbac('clusterroles'),
      roles.filter((role) => role['aggregationRule'] !== undefined),
      [],
    ),
    apply(rbac('clusterrolebindings'), bootstrapClusterRoleBindings(), ['subjects']),
    apply(rbac('roles'), bootstrapRoles(), ['rules']),
    apply(rbac('rolebindings'), bootstrapRoleBindings(), ['subjects']),
  ]);
}

const flowControl = (resource: string): GroupVersionResource => ({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  resource,
});

/** Kubernetes' default FlowSchemas and PriorityLevelConfigurations in `system:admin`; they apply to the whole shard. */
export async function bootstrapFlowControl(modules: BootstrapModules): Promise<void> {
  const apply = (resource: GroupVersionResource, objects: readonly KubeObject[]): Promise<unknown> =>
    applyAll(resource, objects, [], modules);
  await apply(flowControl('prioritylevelconfigurations'), bootstrapPriorityLevels());
  await apply(flowControl('flowschemas'), bootstrapFlowSchemas());
}

/** The logical cluster `root` with its namespaces and RBAC (kcp `config/root`). */
export async function bootstrapRoot(options: { readonly shardName: string }, modules: BootstrapModules): Promise<void> {
  const object: KubeObject = {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: {
      name: logicalClusterObjectName,
      annotations: {
        [pathAnnotation]: 'root',
        [shardAnnotation]: options.shardName,
        [typeAnnotation]: 'root:root',
        [ownerAnnotation]: '{"username":"system:kcp-bootstrapper"}',
      },
    },
  };
  await reconcileObject(logicalClusters, rootCluster, object, [], modules);
  await initializeRoot(modules.client);
  for (const name of rootNamespaces)
    await reconcileObject(
      namespaces,
      rootCluster,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      [],
      modules,
    );
  for (const [name, role] of [
    ['system:kcp:tenancy:authenticated:access', 'system:kcp:workspace:access'],
    ['system:kcp:authenticated:tenancy:reader', 'system:kcp:tenancy:reader'],
  ] as const) {
    const binding: KubeObject = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
    };
    await reconcileObject(rbac('clusterrolebindings'), rootCluster, binding, ['subjects'], modules);
  }
}

/** Allows the groups of `--home-workspaces-home-creator-groups` to create home workspaces. */
export async function bootstrapHomeCreators(groups: readonly string[], modules: BootstrapModules): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  const name = 'system:kcp:home-clusterworkspace-create';
  const role: KubeObject = {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [
      { apiGroups: ['tenancy.kcp.io'], resources: ['workspaces'], resourceNames: ['~'], verbs: ['create', 'get'] },
    ],
  };
  const binding: KubeObject = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'system:kcp:configured-group:home-clusterworkspace-create' },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: groups.map((group) => ({ apiGroup, kind: 'Group', name: group })),
  };
  await reconcileObject(rbac('clusterroles'), rootCluster, role, ['rules'], modules);
  await reconcileObject(rbac('clusterrolebindings'), rootCluster, binding, ['subjects'], modules);
}

/** Moves root to the phase Initializing, from which on RBAC allows access to it. */
async function initializeRoot(client: ObjectClient): Promise<void> {
  const reference = { cluster: rootCluster, namespace: '', name: logicalClusterObjectName };
  const { status } = (await client.get(logicalClusters, reference)) as LogicalCluster;
  if (status?.phase !== undefined && status.phase !== 'Scheduling') return;
  const initializing = { status: { phase: 'Initializing' } };
  await client.patch(logicalClusters, reference, 'application/merge-patch+json', initializing, {
    subresource: 'status',
  });
}

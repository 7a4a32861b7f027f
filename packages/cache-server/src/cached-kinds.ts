import type { LogicalClusterName } from '@multiplane/apimachinery';
import { customResourcesSegment } from '@multiplane/storage';

/** A cached kind, in one version. */
export interface CachedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Identity segment of the storage keys: `customresources`, or the identity hash of a CachedResource. */
  readonly identity: string;
}

/** The shard and logical cluster of a request. */
export interface CacheScope {
  readonly shard: string;
  readonly cluster: LogicalClusterName | '*';
}

/**
 * A source of cached kinds. The built-in kinds are the same in every scope; those of CachedResources depend on the
 * scope, and their resource may carry an identity (`things:<hash>`). The first source that finds a kind wins.
 */
export interface CachedKindSource {
  find(
    scope: CacheScope,
    group: string,
    version: string,
    resource: string,
    identity: string | undefined,
  ): CachedKind | undefined;
  /** The kinds that discovery lists. */
  list(scope: CacheScope): readonly CachedKind[];
  /** Changes whenever {@link list} changes. */
  hash(scope: CacheScope): string;
}

type Row = readonly [group: string, version: string, kinds: Readonly<Record<string, string>>];

/** The built-in cached kinds, plural to kind. */
const rows: readonly Row[] = [
  ['apis.kcp.io', 'v1alpha2', { apiexports: 'APIExport' }],
  [
    'apis.kcp.io',
    'v1alpha1',
    {
      apiexportendpointslices: 'APIExportEndpointSlice',
      apiresourceschemas: 'APIResourceSchema',
      apiconversions: 'APIConversion',
    },
  ],
  // Heartbeats of the shards; kcp does not cache them.
  ['coordination.k8s.io', 'v1', { leases: 'Lease' }],
  ['core.kcp.io', 'v1alpha1', { logicalclusters: 'LogicalCluster', shards: 'Shard' }],
  ['migration.kcp.io', 'v1alpha1', { logicalclustermigrations: 'LogicalClusterMigration' }],
  [
    'cache.kcp.io',
    'v1alpha1',
    {
      cachedobjects: 'CachedObject',
      cachedresources: 'CachedResource',
      cachedresourceendpointslices: 'CachedResourceEndpointSlice',
    },
  ],
  [
    'scopes.multiplane.dev',
    'v1alpha1',
    {
      apiexportscopes: 'APIExportScope',
      apiexportscopesets: 'APIExportScopeSet',
      apiexportscopeendpointslices: 'APIExportScopeEndpointSlice',
    },
  ],
  [
    'tenancy.kcp.io',
    'v1alpha1',
    {
      workspacetypes: 'WorkspaceType',
      workspaceauthenticationconfigurations: 'WorkspaceAuthenticationConfiguration',
    },
  ],
  [
    'rbac.authorization.k8s.io',
    'v1',
    {
      roles: 'Role',
      clusterroles: 'ClusterRole',
      rolebindings: 'RoleBinding',
      clusterrolebindings: 'ClusterRoleBinding',
    },
  ],
  [
    'admissionregistration.k8s.io',
    'v1',
    {
      mutatingwebhookconfigurations: 'MutatingWebhookConfiguration',
      mutatingadmissionpolicies: 'MutatingAdmissionPolicy',
      mutatingadmissionpolicybindings: 'MutatingAdmissionPolicyBinding',
      validatingwebhookconfigurations: 'ValidatingWebhookConfiguration',
      validatingadmissionpolicies: 'ValidatingAdmissionPolicy',
      validatingadmissionpolicybindings: 'ValidatingAdmissionPolicyBinding',
    },
  ],
];
const namespacedKinds = new Set(['Role', 'RoleBinding', 'Lease']);

const systemKinds: readonly CachedKind[] = rows.flatMap(([group, version, kinds]) =>
  Object.entries(kinds).map(([resource, kind]) => ({
    group,
    version,
    kind,
    resource,
    namespaced: namespacedKinds.has(kind),
    identity: customResourcesSegment,
  })),
);

const byPath = new Map(systemKinds.map((kind) => [pathOf(kind.group, kind.version, kind.resource), kind]));

function pathOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}

/** The built-in kinds, equal in every scope. */
export const systemKindSource: CachedKindSource = {
  find: (_scope, group, version, resource, identity) =>
    identity === undefined ? byPath.get(pathOf(group, version, resource)) : undefined,
  list: () => systemKinds,
  hash: () => 'system',
};

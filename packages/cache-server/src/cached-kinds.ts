import type { LogicalClusterName } from '@multiplane/apimachinery';
import { customResourcesSegment } from '@multiplane/storage';

/** A kind whose replicas are served, as one version shows it. */
export interface CachedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Segment of the keys: `customresources`, or the identity hash of a CachedResource. */
  readonly identity: string;
}

/** What a request looks at. */
export interface CachedPlace {
  readonly shard: string;
  readonly cluster: LogicalClusterName | '*';
}

/**
 * Where kinds come from. The kinds of the system are the same everywhere; those that CachedResources make depend on the
 * place, and their resource may carry an identity (`things:<hash>`). Asked in turn; the first who knows it answers.
 */
export interface KindSource {
  find(place: CachedPlace, group: string, version: string, resource: string): CachedKind | undefined;
  /** What discovery shows there. */
  list(place: CachedPlace): readonly CachedKind[];
  /** Changes with every change of {@link list}. */
  hash(place: CachedPlace): string;
}

type Row = readonly [group: string, version: string, kinds: Readonly<Record<string, string>>];

/** The kinds of the system (C10.2), plural to kind. Adding one is one line. */
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
  // Signs of life of the shards; new here.
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

export const systemKinds: readonly CachedKind[] = rows.flatMap(([group, version, kinds]) =>
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

/** The kinds of the system: everywhere the same. */
export const systemKindSource: KindSource = {
  find: (_place, group, version, resource) => byPath.get(pathOf(group, version, resource)),
  list: () => systemKinds,
  hash: () => 'system',
};

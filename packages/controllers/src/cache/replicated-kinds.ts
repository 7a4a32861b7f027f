import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';

/** Comma-separated API groups that need an object on all shards; set by the replicate annotation controller. */
export const replicateAnnotation = 'internal.kcp.io/replicate';

export interface ReplicatedKind extends GroupVersionResource {
  /** Identity hash of the CachedResource that replicates the objects; absent: a fixed kind. */
  readonly identity?: string | undefined;
  /** Only objects that carry {@link replicateAnnotation}. */
  readonly onlyAnnotated?: true;
  /** Of those, only objects in logical clusters whose LogicalCluster carries it: RBAC for what they share. */
  readonly onlyInReplicatedClusters?: true;
}

const onlyAnnotated = true;
const onlyInReplicatedClusters = true;

/**
 * The kinds that every shard publishes to the cache server (kcp: pkg/reconciler/cache/replication). A kind that a shard
 * does not serve has no objects and costs nothing.
 *
 * kcp publishes the annotated RBAC of all logical clusters, so its cache grows with the number of workspaces: each has the
 * annotated binding of its owner. Here only RBAC of replicated logical clusters is published (docs/adr/0033).
 */
export const replicatedKinds: readonly ReplicatedKind[] = [
  { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' },
  { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiexportendpointslices' },
  { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiresourceschemas' },
  { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiconversions' },
  { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'mutatingwebhookconfigurations' },
  { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'validatingwebhookconfigurations' },
  { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'validatingadmissionpolicies' },
  { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'validatingadmissionpolicybindings' },
  { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'mutatingadmissionpolicies' },
  { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'mutatingadmissionpolicybindings' },
  { group: 'cache.kcp.io', version: 'v1alpha1', resource: 'cachedresources' },
  { group: 'cache.kcp.io', version: 'v1alpha1', resource: 'cachedresourceendpointslices' },
  { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' },
  { group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters', onlyAnnotated },
  // Liveness and load of shards for scheduling. Not in kcp.
  { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', onlyAnnotated },
  { group: 'migration.kcp.io', version: 'v1alpha1', resource: 'logicalclustermigrations' },
  { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' },
  // The authentication of a workspace type applies on every shard. Not in kcp.
  { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaceauthenticationconfigurations' },
  // Scopes apply to the consumers of an export on every shard. Not in kcp.
  { group: 'scopes.multiplane.dev', version: 'v1alpha1', resource: 'apiexportscopes' },
  { group: 'scopes.multiplane.dev', version: 'v1alpha1', resource: 'apiexportscopesets' },
  { group: 'scopes.multiplane.dev', version: 'v1alpha1', resource: 'apiexportscopeendpointslices' },
  {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    resource: 'clusterroles',
    onlyAnnotated,
    onlyInReplicatedClusters,
  },
  {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    resource: 'clusterrolebindings',
    onlyAnnotated,
    onlyInReplicatedClusters,
  },
];

/**
 * Whether an object is published. Not published are objects in `system:` logical clusters, objects without a required
 * annotation, and objects that are being deleted and have no finalizers.
 */
export function isReplicated(
  kind: ReplicatedKind,
  cluster: LogicalClusterName,
  object: DeepReadonly<KubeObject>,
  isClusterReplicated: (cluster: LogicalClusterName) => boolean,
): boolean {
  const { annotations, deletionTimestamp, finalizers } = object.metadata;
  if (cluster.startsWith('system:')) return false;
  if (kind.onlyAnnotated === true && (annotations?.[replicateAnnotation] ?? '') === '') return false;
  if (kind.onlyInReplicatedClusters === true && !isClusterReplicated(cluster)) return false;
  return deletionTimestamp === undefined || (finalizers ?? []).length > 0;
}

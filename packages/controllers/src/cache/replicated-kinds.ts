import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';

/** Comma list of the groups that want an object on all shards; the marking controllers keep it (C5.10). */
export const replicateAnnotation = 'internal.kcp.io/replicate';

export interface ReplicatedKind extends GroupVersionResource {
  /** Only objects that carry {@link replicateAnnotation}. */
  readonly marked?: true;
  /** And of those only what lives in a logical cluster that is itself marked: it says who may use what that one shares. */
  readonly ofSharedClusters?: true;
}

const marked = true;
const ofSharedClusters = true;

/**
 * What every shard publishes for all others (C10.3). Adding a kind is one line. A kind that this shard does not serve yet
 * has no objects, and costs nothing.
 *
 * The reference publishes roles and bindings of every logical cluster; every workspace has a binding that is marked (its
 * owner's), so its cache grows with the number of workspaces. Here it grows with what they share: docs/adr.
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
  { group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters', marked },
  // Signs of life of the shards, for scheduling; new here.
  { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', marked },
  { group: 'migration.kcp.io', version: 'v1alpha1', resource: 'logicalclustermigrations' },
  { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' },
  // What a type says of its workspaces' users counts wherever such a workspace is; new here.
  { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaceauthenticationconfigurations' },
  { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', marked, ofSharedClusters },
  { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', marked, ofSharedClusters },
];

/**
 * Whether an object belongs into the cache. Not: what lives in a `system:` cluster, what is not marked where marks are
 * asked for, what is being deleted and waits for nobody any more.
 */
export function isReplicated(
  kind: ReplicatedKind,
  cluster: LogicalClusterName,
  object: DeepReadonly<KubeObject>,
  isShared: (cluster: LogicalClusterName) => boolean,
): boolean {
  const { annotations, deletionTimestamp, finalizers } = object.metadata;
  if (cluster.startsWith('system:')) return false;
  if (kind.marked === true && (annotations?.[replicateAnnotation] ?? '') === '') return false;
  if (kind.ofSharedClusters === true && !isShared(cluster)) return false;
  return deletionTimestamp === undefined || (finalizers ?? []).length > 0;
}

import type { DeepReadonly, GroupVersionResource, KubeObject } from '@multiplane/apimachinery';

/** Comma list of the groups that want an object on all shards; the marking controllers keep it (C5.10). */
export const replicateAnnotation = 'internal.kcp.io/replicate';

export interface ReplicatedKind extends GroupVersionResource {
  /** Only objects that carry {@link replicateAnnotation}. */
  readonly marked?: true;
}

const marked = true;

/**
 * What every shard publishes for all others (C10.3). Adding a kind is one line. A kind that this shard does not serve yet
 * has no objects, and costs nothing.
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
  { group: 'migration.kcp.io', version: 'v1alpha1', resource: 'logicalclustermigrations' },
  { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' },
  { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', marked },
  { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', marked },
];

/**
 * Whether an object belongs into the cache. Not: what lives in a `system:` cluster, what is not marked where marks are
 * asked for, what is being deleted and waits for nobody any more.
 */
export function isReplicated(kind: ReplicatedKind, cluster: string, object: DeepReadonly<KubeObject>): boolean {
  const { annotations, deletionTimestamp, finalizers } = object.metadata;
  if (cluster.startsWith('system:')) return false;
  if (kind.marked === true && (annotations?.[replicateAnnotation] ?? '') === '') return false;
  return deletionTimestamp === undefined || (finalizers ?? []).length > 0;
}

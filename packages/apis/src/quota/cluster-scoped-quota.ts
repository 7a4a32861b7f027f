import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';

/** The namespace whose ResourceQuotas may hold for a whole logical cluster, as in kcp. */
export const clusterQuotaNamespace = 'admin';
const clusterScopedAnnotation = 'experimental.quota.kcp.io/cluster-scoped';

/**
 * Whether a ResourceQuota counts the objects of its whole logical cluster, of all namespaces and of cluster-scoped kinds,
 * instead of those of its namespace (kcp test/e2e/quota).
 */
export const isClusterScopedQuota = ({ metadata }: DeepReadonly<KubeObject>): boolean =>
  metadata.namespace === clusterQuotaNamespace && metadata.annotations?.[clusterScopedAnnotation] === 'true';

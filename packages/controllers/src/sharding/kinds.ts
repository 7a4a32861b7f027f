import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';

/** Stored in the logical cluster `root` of the root shard and replicated to all shards. */
export const shards: GroupVersionResource = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };
export const leases: GroupVersionResource = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

/** On a Shard, with any value: no new workspaces are scheduled there. */
export const unschedulableAnnotation = 'experimental.core.kcp.io/unschedulable';
/** On a Shard: the number of logical clusters it should hold at most; weights the scheduling. */
export const capacityAnnotation = 'multiplane.io/capacity';
/** On the Lease of a shard: the number of logical clusters it holds. */
export const loadAnnotation = 'multiplane.io/logical-clusters';
/** Objects with this annotation are replicated to the cache server. */
const replicateAnnotation = 'internal.kcp.io/replicate';

export type Shard = KubeObject & {
  spec: { baseURL: string; externalURL?: string; virtualWorkspaceURL?: string };
};
export type Lease = KubeObject & {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string; acquireTime?: string };
};

/** The logical cluster at the top of all paths, on the root shard. */
export const rootCluster = 'root' as LogicalClusterName;

export const shardReference = (name: string): ObjectReference => ({ cluster: rootCluster, namespace: '', name });

const leaseNamePrefix = 'shard-';
const leaseNamespace = 'kube-system';

/** The Lease of a shard. */
export const shardLeaseReference = (shard: string): ObjectReference => ({
  cluster: rootCluster,
  namespace: leaseNamespace,
  name: `${leaseNamePrefix}${shard}`,
});

/** The shard of a Lease; undefined for all other Leases. */
export function shardOfLease({ cluster, namespace, name }: ObjectReference): string | undefined {
  return cluster === rootCluster && namespace === leaseNamespace && name.startsWith(leaseNamePrefix)
    ? name.slice(leaseNamePrefix.length)
    : undefined;
}

/** Annotations of a Lease that is replicated to every shard. */
export const replicatedLease = { [replicateAnnotation]: 'core.kcp.io' } as const;

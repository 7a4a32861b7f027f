import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';

/** Lie in the logical cluster `root` of the root shard, and replicated everywhere. */
export const shards: GroupVersionResource = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };
export const leases: GroupVersionResource = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

/** Any value on a Shard: no new workspaces for it. */
export const unschedulableAnnotation = 'experimental.core.kcp.io/unschedulable';
/** On a Shard: how many logical clusters it is meant to hold. Scheduling weighs by what is left of that. */
export const capacityAnnotation = 'multiplane.io/capacity';
/** On the Lease of a shard: how many logical clusters it holds. */
export const loadAnnotation = 'multiplane.io/logical-clusters';
/** Objects that carry it are replicated to the cache server; the value names who wants them there (C10.3). */
const replicateAnnotation = 'internal.kcp.io/replicate';

export type Shard = KubeObject & {
  spec: { baseURL: string; externalURL?: string; virtualWorkspaceURL?: string };
};
export type Lease = KubeObject & {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string; acquireTime?: string };
};

/** The top of all paths, on the root shard. */
export const rootCluster = 'root' as LogicalClusterName;

export const shardReference = (name: string): ObjectReference => ({ cluster: rootCluster, namespace: '', name });

const leaseNamePrefix = 'shard-';
const leaseNamespace = 'kube-system';

/** Where the Lease of a shard is. */
export const shardLeaseReference = (shard: string): ObjectReference => ({
  cluster: rootCluster,
  namespace: leaseNamespace,
  name: `${leaseNamePrefix}${shard}`,
});

/** The shard whose Lease that is; undefined for every other Lease. */
export function shardOfLease({ cluster, namespace, name }: ObjectReference): string | undefined {
  return cluster === rootCluster && namespace === leaseNamespace && name.startsWith(leaseNamePrefix)
    ? name.slice(leaseNamePrefix.length)
    : undefined;
}

/** Annotations that make a Lease known on every shard. */
export const replicatedLease = { [replicateAnnotation]: 'core.kcp.io' } as const;

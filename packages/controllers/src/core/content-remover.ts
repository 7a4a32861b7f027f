import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';

/**
 * What is left of a logical cluster after a round: nothing but its own object; only what is marked as being deleted and
 * waits for whoever holds it; or something that could not be deleted, or whose kind nobody serves.
 */
export type ContentLeft = 'nothing' | 'held' | 'failed';

/** Removes what goes together with much else, for less than one request for each would cost. */
export interface ContentRemover {
  /**
   * One round of emptying a logical cluster that is being deleted (C15.3). Everything that nobody holds is gone after
   * it, everything else is marked. Namespaces go when they are empty, bindings when nothing else is left, and the
   * cluster's own RBAC last. The LogicalCluster stays.
   */
  empty(cluster: LogicalClusterName): Promise<ContentLeft>;

  /**
   * Removes an object that is being deleted, as the update would that takes the caller's finalizer, the only one left.
   * Throws Conflict when it is not any more what was read.
   */
  release(resource: GroupVersionResource, cluster: LogicalClusterName, object: DeepReadonly<KubeObject>): Promise<void>;
}

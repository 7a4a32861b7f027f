import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';

/**
 * The content of a logical cluster after a round: `nothing` but the LogicalCluster; `held`: only objects that are being
 * deleted and wait for finalizers; `failed`: objects that could not be deleted or whose kind is not served.
 */
export type ContentDeletionOutcome = 'nothing' | 'held' | 'failed';

/** Deletes the content of logical clusters at a lower cost than one request per object. */
export interface ContentDeleter {
  /**
   * Runs one round over a logical cluster that is being deleted: removes objects without finalizers, and sets the deletion
   * timestamp of all others. Namespaces are removed when they are empty, APIBindings when nothing else is left, and
   * cluster-scoped RBAC last. The LogicalCluster is kept.
   */
  empty(cluster: LogicalClusterName): Promise<ContentDeletionOutcome>;

  /**
   * Removes an object that is being deleted and has no finalizer left but the caller's, in place of the update that would
   * remove the finalizer. Throws Conflict if the object has changed since it was read.
   */
  release(resource: GroupVersionResource, cluster: LogicalClusterName, object: DeepReadonly<KubeObject>): Promise<void>;
}

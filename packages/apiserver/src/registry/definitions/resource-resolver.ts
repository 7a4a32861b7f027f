import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

/** Finds the resources that a logical cluster serves. Called for every request, so answers come from memory. */
export interface ResourceResolver {
  /**
   * The definition of a path. `cluster` is `*` for requests over all logical clusters, which only find resources that are
   * the same in all of them. With an identity only resources bound with that identity are found, and compiled-in ones.
   * Throws 503 for a bound resource whose definition is not available.
   */
  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
    identity?: string,
  ): ResourceDefinition | undefined;
  /** All definitions of a logical cluster that discovery lists; built-in kinds first. */
  list(cluster: LogicalClusterName): readonly ResourceDefinition[];
  /** Changes with every change of `list(cluster)`; equal hashes mean equal lists. */
  discoveryHash(cluster: LogicalClusterName): string;
  /**
   * Prepares `list(cluster)` and `discoveryHash(cluster)` in time slices: a logical cluster may have hundreds of definitions
   * that no request has used yet. Undefined if both are fast.
   */
  prepare?(cluster: LogicalClusterName): Promise<void> | undefined;
  /** Whether a group is compiled in: unknown paths below it get a Status, below other groups a plain 404. */
  isBuiltInGroup(group: string): boolean;
  /**
   * Calls back once when the logical cluster no longer serves the resource by this definition; returns a function that
   * cancels the callback. Absent: a definition ends only by its own signal `retired`.
   */
  whenReplaced?(cluster: LogicalClusterName, definition: ResourceDefinition, onReplaced: () => void): () => void;
}

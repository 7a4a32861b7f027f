import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

/** Which resources a logical cluster serves. Answers come from memory: it is asked on every request. */
export interface ResourceResolver {
  /**
   * The definition behind a path. `cluster` is `*` for requests over all logical clusters: then only resources that are
   * the same everywhere are found. With an identity, only what is bound with that one is, and what is compiled in. Throws
   * 503 for a resource that is bound but cannot be shown for the moment.
   */
  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
    identity?: string,
  ): ResourceDefinition | undefined;
  /** Everything that discovery shows in a logical cluster; built-in kinds first. */
  list(cluster: LogicalClusterName): readonly ResourceDefinition[];
  /** Changes with every change of `list(cluster)`; equal texts mean equal answers. */
  surfaceHash(cluster: LogicalClusterName): string;
  /**
   * Makes what `list(cluster)` and `surfaceHash(cluster)` would have to make, leaving the event loop to others in between:
   * somebody may have hundreds of definitions at which nobody has looked yet. Undefined: they are quick.
   */
  prepare?(cluster: LogicalClusterName): Promise<void> | undefined;
  /** True for a group that is compiled in: paths below it answer with a Status where others get a plain 404. */
  isBuiltInGroup(group: string): boolean;
  /**
   * Calls back once when the logical cluster no longer serves the resource by this definition, until the result is
   * called. Absent: that never happens but by the definition's own `retired`.
   */
  whenReplaced?(cluster: LogicalClusterName, definition: ResourceDefinition, gone: () => void): () => void;
}

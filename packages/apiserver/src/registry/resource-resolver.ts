import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

/** Which resources a logical cluster serves. Answers come from memory: it is asked on every request. */
export interface ResourceResolver {
  /**
   * The definition behind a path. `cluster` is `*` for requests over all logical clusters: then only resources that are
   * the same everywhere are found.
   */
  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined;
  /** Everything that discovery shows in a logical cluster; built-in kinds first. */
  list(cluster: LogicalClusterName): readonly ResourceDefinition[];
  /** Changes with every change of `list(cluster)`; equal texts mean equal answers. */
  surfaceHash(cluster: LogicalClusterName): string;
  /** True for a group that is compiled in: paths below it answer with a Status where others get a plain 404. */
  isBuiltInGroup(group: string): boolean;
}

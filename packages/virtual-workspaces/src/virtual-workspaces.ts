import type { VirtualWorkspace } from '@multiplane/virtual-framework';
import { apiExportWorkspace, type ApiExportModules } from './apiexport/apiexport.ts';
import { apiResourceSchemaWorkspace, type ApiResourceSchemaModules } from './apiresourceschema/apiresourceschema.ts';
import { contentWorkspace, type ContentModules } from './lifecycle/workspace-content.ts';
import { initializing, terminating } from './lifecycle/lifecycle.ts';
import { logicalClusterWorkspaces } from './lifecycle/logical-clusters.ts';
import { replicationWorkspace, type ReplicationModules } from './replication/replication.ts';
import type { ReplicationApiSetsOptions } from './replication/replication-api-sets.ts';

/** All virtual workspaces of a shard, in the order of path resolution. */
export function shardVirtualWorkspaces(
  options: ReplicationApiSetsOptions,
  modules: ApiExportModules & ApiResourceSchemaModules & ContentModules & ReplicationModules,
): VirtualWorkspace[] {
  return [
    apiExportWorkspace(modules),
    apiResourceSchemaWorkspace(modules),
    replicationWorkspace(options, modules),
    ...[initializing, terminating].flatMap((lifecycle) => [
      ...logicalClusterWorkspaces(lifecycle, modules),
      contentWorkspace(lifecycle, modules),
    ]),
  ];
}

import type { VirtualWorkspace } from '@multiplane/virtual-framework';
import { apiExportWorkspace, type ApiExportModules } from './apiexport/apiexport.ts';
import { apiResourceSchemaWorkspace, type ApiResourceSchemaModules } from './apiresourceschema/apiresourceschema.ts';
import { contentWorkspace, type ContentModules } from './lifecycle/content.ts';
import { initializing, terminating } from './lifecycle/lifecycle.ts';
import { logicalClusterWorkspaces } from './lifecycle/logical-clusters.ts';

/** All virtual workspaces of a shard, in the order in which they are asked for a path (C8.1). */
export function shardVirtualWorkspaces(
  modules: ApiExportModules & ApiResourceSchemaModules & ContentModules,
): VirtualWorkspace[] {
  return [
    apiExportWorkspace(modules),
    apiResourceSchemaWorkspace(modules),
    ...[initializing, terminating].flatMap((lifecycle) => [
      ...logicalClusterWorkspaces(lifecycle, modules),
      contentWorkspace(lifecycle, modules),
    ]),
  ];
}

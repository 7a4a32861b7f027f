import type { ObjectFaults } from '@multiplane/component-base';
import type { VirtualWorkspace } from '@multiplane/virtual-framework';
import { BodyDecoder, ExportsByIdentity, type YamlWorker } from '@multiplane/apiserver';
import { apiExportWorkspace, type ApiExportModules } from './apiexport/apiexport.ts';
import { ExportResourceFactory } from './apiexport/export-resources.ts';
import { apiExportScopeWorkspace, type ApiExportScopeModules } from './apiexport-scope/apiexport-scope.ts';
import { apiResourceSchemaWorkspace, type ApiResourceSchemaModules } from './apiresourceschema/apiresourceschema.ts';
import { contentWorkspace, type ContentModules } from './lifecycle/workspace-content.ts';
import { initializing, terminating } from './lifecycle/lifecycle.ts';
import { logicalClusterWorkspaces } from './lifecycle/logical-clusters.ts';
import { replicationWorkspace, type ReplicationModules } from './replication/replication.ts';
import type { ReplicationApiSetsOptions } from './replication/replication-api-sets.ts';

/** All virtual workspaces of a shard, in the order of path resolution. */
export function shardVirtualWorkspaces(
  options: ReplicationApiSetsOptions & { /** Feature gate CacheAPIs. */ readonly cacheApis: boolean },
  modules: Omit<ApiExportModules & ApiExportScopeModules, 'byIdentity' | 'factory'> &
    ApiResourceSchemaModules &
    ContentModules &
    ReplicationModules & {
      readonly faults: ObjectFaults;
      /** Stopped by the caller. */
      readonly yaml: YamlWorker;
    },
): VirtualWorkspace[] {
  // The identity index is created first, because handlers are called in the order of registration.
  const byIdentity = new ExportsByIdentity(modules);
  const factory = new ExportResourceFactory({ ...modules, byIdentity });
  const decoder = new BodyDecoder({ isBuiltInKind: () => false, yaml: modules.yaml });
  return [
    apiExportWorkspace({ ...modules, byIdentity, factory, decoder }),
    apiExportScopeWorkspace({ ...modules, byIdentity, factory, decoder }),
    apiResourceSchemaWorkspace(modules),
    ...(options.cacheApis ? [replicationWorkspace(options, modules)] : []),
    ...[initializing, terminating].flatMap((lifecycle) => [
      ...logicalClusterWorkspaces(lifecycle, { ...modules, decoder }),
      contentWorkspace(lifecycle, modules),
    ]),
  ];
}

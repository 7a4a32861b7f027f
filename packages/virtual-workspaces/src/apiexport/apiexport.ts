import type { APIExport, APIResourceSchema } from '@multiplane/apis';
import {
  type BodyDecoder,
  checkCreateAllowed,
  type ExportsByIdentity,
  type ResourceRequest,
} from '@multiplane/apiserver';
import type { Informer } from '@multiplane/client';
import {
  parseServicePath,
  type AccessReviewer,
  type ApiSetHandler,
  type ShardConnection,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import { trackSync } from '../informer-sync.ts';
import { ExportAuthorizer } from './export-authorizer.ts';
import { ExportApiSets } from './export-api-sets.ts';
import { exportKeyOf, type ExportKey } from './export-bindings.ts';
import type { ExportResourceFactory } from './export-resources.ts';
import { exportedResource } from './exported-resource.ts';

export interface ApiExportModules {
  readonly connection: ShardConnection;
  readonly serve: ApiSetHandler;
  /** Decodes the bodies of writes that are not forwarded. */
  readonly decoder?: BodyDecoder | undefined;
  readonly reviewer: AccessReviewer;
  readonly deepReviewer: AccessReviewer;
  /** APIExports of all shards. */
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  /** APIBindings of this shard's logical clusters. */
  readonly bindings: ConsumerBindings;
  readonly byIdentity: ExportsByIdentity;
  /** Shared by the virtual workspaces that serve resources of exports. */
  readonly factory: ExportResourceFactory;
}

/**
 * The APIExport virtual workspace: the resources of an APIExport and those that it claims, in every logical cluster of
 * this shard that has bound it, one by one or across all: `/services/apiexport/<cluster>/<export>/clusters/<cluster or
 * *>/…`.
 */
export function apiExportWorkspace(modules: ApiExportModules): VirtualWorkspace {
  const { serve, exports, schemas, bindings } = modules;
  const apis = new ExportApiSets(
    {},
    {
      ...modules,
      serve: (key, resource, retired) => exportedResource(key, resource, retired, { ...modules, mayCreate }),
    },
  );
  const access = new ExportAuthorizer(modules);
  const synced = trackSync([exports, schemas, bindings.informer]);

  async function mayCreate(key: ExportKey, request: ResourceRequest): Promise<void> {
    await checkCreateAllowed({ authorizer: access.authorizer(key, request.context.exchange) }, request);
  }

  return {
    name: 'apiexport',
    listsRootPaths: true,
    resolve: (target) => parseServicePath(target, 'apiexport', 2),
    authorize: async (attributes) => {
      await synced.promise;
      return access.authorizer(exportKeyOf(attributes.virtual.key), attributes.exchange).authorize(attributes);
    },
    handle: async (request) => {
      await synced.promise;
      await apis.serve(exportKeyOf(request.key), (set) => serve(request, set));
    },
    check: () => {
      if (!synced.done) throw new Error('apiexport virtual workspace controllers are not started');
    },
  };
}

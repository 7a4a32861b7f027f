import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import { kcpResources, type ResourceDefinition, type Verb } from '@multiplane/apis';
import type { RequestInfo } from '@multiplane/apiserver';
import {
  ApiSet,
  ForwardedResource,
  parseServicePath,
  type AccessReviewer,
  type ApiSetHandler,
  type ShardConnection,
  type VirtualRequest,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import { lifecycleAccess } from './lifecycle-access.ts';
import { asLogicalCluster, type Lifecycle } from './lifecycle.ts';
import { statusRule } from './status-rules.ts';

export interface LifecycleModules {
  readonly connection: ShardConnection;
  readonly reviewer: AccessReviewer;
  readonly serve: ApiSetHandler;
}

/**
 * The logical clusters that wait for one initializer or terminator: over all of the shard to find them, and one by one to
 * report what was done (C8.4). The objects are the shard's own.
 *
 * Whoever may act for a type has no rights of their own in the workspaces of others, so the shard is asked in the
 * caller's name, but with the rights of the system: authorization was here.
 */
export function logicalClusterWorkspaces(lifecycle: Lifecycle, modules: LifecycleModules): VirtualWorkspace[] {
  const { service } = lifecycle;
  const common = {
    resolve: (target: Parameters<VirtualWorkspace['resolve']>[0]) => parseServicePath(target, service, 1),
    authorize: lifecycleAccess(lifecycle, modules),
  };
  const wildcard = viewOf(['get', 'list', 'watch'], []);
  const single = viewOf(['get'], ['get', 'patch', 'update']);
  const serve = (request: VirtualRequest, definition: ResourceDefinition): Promise<void> =>
    modules.serve(request, new ApiSet([forwarded(lifecycle, request.key, definition, modules.connection)]));
  return [
    {
      ...common,
      name: `${service}-wildcard-logicalclusters`,
      accepts: ({ cluster }) => cluster === '*',
      handle: (request) => serve(request, wildcard),
    },
    {
      ...common,
      name: `${service}-logicalclusters`,
      accepts: (info) => info.cluster !== '*' && isAboutLogicalClusters(lifecycle, info),
      handle: (request) => serve(request, single),
    },
  ];
}

/**
 * The content of a terminating workspace hides its discovery behind that of this view, so that controllers which start
 * with discovery find the one resource they are there for (C8.5).
 */
function isAboutLogicalClusters({ noun }: Lifecycle, info: RequestInfo): boolean {
  if (info.isResourceRequest) return info.group === 'core.kcp.io' && info.resource === 'logicalclusters';
  return noun === 'terminator' && info.path !== '/' && info.path !== '/healthz';
}

function viewOf(verbs: readonly Verb[], statusVerbs: readonly Verb[]): ResourceDefinition {
  const definition = kcpResources().find(
    ({ group, resource }) => group === 'core.kcp.io' && resource === 'logicalclusters',
  );
  const status = definition?.subresources['status'];
  if (definition === undefined || status === undefined) throw new Error('logical clusters have no definition');
  return { ...definition, verbs, subresources: { status: { ...status, verbs: statusVerbs } } };
}

function forwarded(
  lifecycle: Lifecycle,
  id: string,
  definition: ResourceDefinition,
  connection: ShardConnection,
): ForwardedResource {
  return new ForwardedResource(
    {
      definition,
      labelSelector: lifecycle.labelSelector(id),
      holds: (object) => lifecycle.holds(asLogicalCluster(object), id),
      mayUpdate: statusRule(lifecycle, id),
      actingAs: asSystem,
    },
    { connection },
  );
}

/** Whose name goes to the audit log, with the rights of the system. */
const asSystem = ({ name, uid }: UserInfo): UserInfo => ({ name, uid, groups: [mastersGroup], extra: {} });

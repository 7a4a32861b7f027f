import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import { kcpResources, type ResourceDefinition, type Verb } from '@multiplane/apis';
import type { BodyDecoder, ResourceRequest } from '@multiplane/apiserver';
import { acceptHeader, type RequestInfo } from '@multiplane/generic-server';
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
import { DeletionEvents } from './deletion-events.ts';
import { lifecycleAuthorizer } from './lifecycle-authorizer.ts';
import { asLogicalCluster, type Lifecycle } from './lifecycle.ts';
import { earlyStatusRule, statusRule } from './status-rules.ts';

export interface LifecycleModules {
  readonly connection: ShardConnection;
  readonly reviewer: AccessReviewer;
  readonly serve: ApiSetHandler;
  /** Decodes the bodies of writes that end here; absent: they are refused unread. */
  readonly decoder?: BodyDecoder | undefined;
}

/**
 * The logical clusters that wait for one initializer or terminator: listed across the shard, and individually to update
 * their status. The shard stores the objects.
 *
 * The controllers have no rights in other users' workspaces, so requests are forwarded with the caller's name and the
 * rights of system:masters, after the authorization here.
 */
export function logicalClusterWorkspaces(lifecycle: Lifecycle, modules: LifecycleModules): VirtualWorkspace[] {
  const { service } = lifecycle;
  const common = {
    hasPlainDiscovery: true,
    resolve: (target: Parameters<VirtualWorkspace['resolve']>[0]) => parseServicePath(target, service, 1),
    authorize: lifecycleAuthorizer(lifecycle, modules),
  };
  const wildcard = restrictedDefinition(['get', 'list', 'watch'], []);
  const single = restrictedDefinition(['get'], ['get', 'patch', 'update']);
  const serve = (request: VirtualRequest, definition: ResourceDefinition): Promise<void> =>
    modules.serve(request, new ApiSet([forwarded(lifecycle, request.key, definition, modules)]));
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
 * For terminating workspaces the discovery of this virtual workspace takes precedence over that of the content, so that
 * controllers find the logicalclusters resource.
 */
function isAboutLogicalClusters({ noun }: Lifecycle, info: RequestInfo): boolean {
  if (info.isResourceRequest) return info.group === 'core.kcp.io' && info.resource === 'logicalclusters';
  return noun === 'terminator' && info.path !== '/' && info.path !== '/healthz';
}

function restrictedDefinition(verbs: readonly Verb[], statusVerbs: readonly Verb[]): ResourceDefinition {
  const definition = kcpResources().find(
    ({ group, resource }) => group === 'core.kcp.io' && resource === 'logicalclusters',
  );
  const status = definition?.subresources['status'];
  if (definition === undefined || status === undefined) throw new Error('no definition of logicalclusters');
  return { ...definition, verbs, subresources: { status: { ...status, verbs: statusVerbs } } };
}

function forwarded(
  lifecycle: Lifecycle,
  id: string,
  definition: ResourceDefinition,
  { connection, decoder }: Pick<LifecycleModules, 'connection' | 'decoder'>,
): ForwardedResource {
  const isFiltered = (request: ResourceRequest): boolean =>
    lifecycle.memberSelector !== undefined && isPlainWatch(request);
  return new ForwardedResource(
    {
      definition,
      labelSelector: (request) => (isFiltered(request) ? lifecycle.memberSelector?.(id) : lifecycle.labelSelector(id)),
      responseFilter: (request) => (isFiltered(request) ? new DeletionEvents(request.context.exchange) : undefined),
      isVisible: (object) => lifecycle.isWaitingFor(asLogicalCluster(object), id),
      earlyUpdateRule: earlyStatusRule(lifecycle, id),
      updateRule: statusRule(lifecycle, id),
      upstreamUser: asSystem,
      // kcp's virtual workspace has an empty schema.
      hasSchema: false,
    },
    { connection, decoder },
  );
}

/** A watch whose events are lines of JSON with the metadata of the objects. */
function isPlainWatch({ context }: ResourceRequest): boolean {
  const { exchange } = context;
  const accept = acceptHeader(exchange.headers);
  const isUpgrade = exchange.upgradeToWebSocket !== undefined && exchange.headers['upgrade'] !== undefined;
  return context.info.verb === 'watch' && !isUpgrade && !/as=Table|protobuf|yaml|cbor/i.test(accept);
}

/** The caller's name for the audit log, with the rights of system:masters. */
const asSystem = ({ name, uid }: UserInfo): UserInfo => ({ name, uid, groups: [mastersGroup], extra: {} });

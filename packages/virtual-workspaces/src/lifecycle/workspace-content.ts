import { isStatusError, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import {
  type AuthorizationAttributes,
  authorizationAttributesOf,
  type Exchange,
  isLongRunning,
  ProxiedExchange,
  ruleAllows,
  writeText,
} from '@multiplane/generic-server';
import {
  responseObject,
  parseServicePath,
  sendRequest as send,
  type VirtualRequest,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import { lifecycleAuthorizer } from './lifecycle-authorizer.ts';
import {
  asLogicalCluster,
  isSystemId,
  workspaceTypeOf,
  type Lifecycle,
  type LogicalCluster,
  type WorkspaceType,
} from './lifecycle.ts';
import type { LifecycleModules } from './logical-clusters.ts';

export interface ContentModules extends LifecycleModules {
  /** Finds a WorkspaceType on any shard; undefined if there is none. */
  readonly findType: (parent: Exchange, cluster: string, name: string) => Promise<WorkspaceType | undefined>;
}

/**
 * The content of a workspace that waits for an initializer or terminator. Requests are forwarded to the shard, as a
 * user that depends on the WorkspaceType:
 *
 * - If the type lists permissions, the requests that they allow are forwarded as the caller, in a group that marks it
 *   as acting for the type. The shard enforces the same permissions again.
 * - If it lists none, requests are forwarded as the creator of the workspace.
 */
export function contentWorkspace(lifecycle: Lifecycle, modules: ContentModules): VirtualWorkspace {
  return {
    name: `${lifecycle.service}-workspace-content`,
    resolve: (target) => parseServicePath(target, lifecycle.service, 1),
    accepts: ({ cluster }) => cluster !== '*',
    authorizesByPath: true,
    authorize: lifecycleAuthorizer(lifecycle, modules),
    handle: (request) => proxyContent(lifecycle, modules, request),
  };
}

const logicalClusters = { group: 'core.kcp.io', resource: 'logicalclusters' };

async function proxyContent(lifecycle: Lifecycle, modules: ContentModules, request: VirtualRequest): Promise<void> {
  const { context, key: id, cluster } = request;
  const { exchange, info } = context;
  const respondWithError = (status: number, text: string): void => writeText(exchange, status, `${text}\n`);
  const object = await logicalClusterOf(modules, exchange, cluster);
  if (object === undefined) throw statusErrors.notFound(logicalClusters, 'cluster');
  if (!lifecycle.isWaitingFor(object, id))
    return respondWithError(403, `${lifecycle.noun} "${id}" cannot access this workspace`);
  const found = await permissionsOf(lifecycle, modules, exchange, id);
  if ('failure' in found)
    return respondWithError(
      503,
      `${lifecycle.noun} "${id}": WorkspaceType not found in local or cached indexer; refusing to fall back to owner impersonation: ${found.failure}`,
    );
  let user: UserInfo;
  if (found.rules === undefined) {
    const creator = creatorOf(object);
    if (creator === undefined)
      return respondWithError(
        403,
        `${lifecycle.noun} "${id}" cannot access this workspace: LogicalCluster ${cluster}|cluster had no createdBy recorded`,
      );
    user = creator;
  } else {
    const attributes = authorizationAttributesOf(context);
    if (!found.rules.some((rule) => ruleAllows(rule, attributes)))
      return respondWithError(
        403,
        `${lifecycle.noun} "${id}" denied by ${lifecycle.permissions}: no rule allows ${requestText(attributes)}`,
      );
    const { name, uid, groups, extra } = context.user;
    user = { name, uid, extra, groups: [`system:kcp:${lifecycle.noun}:${id}`, ...groups] };
  }
  const query = exchange.url.indexOf('?');
  await modules.connection.forward(new ProxiedExchange(exchange), {
    url: `/clusters/${cluster}${info.path}${query < 0 ? '' : exchange.url.slice(query)}`,
    user,
    longRunning: isLongRunning(info),
  });
}

async function logicalClusterOf(
  { connection }: ContentModules,
  parent: Exchange,
  cluster: string,
): Promise<LogicalCluster | undefined> {
  const url = `/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
  try {
    return asLogicalCluster(
      responseObject(
        await send(connection, parent, { url }, { method: 'GET', headers: { accept: 'application/json' } }),
      ),
    );
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

type Permissions =
  | { readonly rules: NonNullable<WorkspaceType['spec']>['initializerPermissions'] | undefined }
  | { readonly failure: string };

/** No rules: the creator of the workspace is impersonated. A type that is not found grants nothing. */
async function permissionsOf(
  { permissions }: Lifecycle,
  { findType }: ContentModules,
  parent: Exchange,
  id: string,
): Promise<Permissions> {
  if (isSystemId(id)) return { rules: undefined };
  const place = workspaceTypeOf(id);
  if (place === undefined) return { failure: `${id} names no type` };
  const type = await findType(parent, place.cluster, place.name);
  if (type === undefined) return { failure: `workspacetype.tenancy.kcp.io "${place.name}" not found` };
  const rules = type.spec?.[permissions];
  return { rules: rules === undefined || rules.length === 0 ? undefined : rules };
}

function creatorOf({ spec }: LogicalCluster): UserInfo | undefined {
  const { username, uid = '', groups = [], extra = {} } = spec?.createdBy ?? {};
  return username === undefined || username === '' ? undefined : { name: username, uid, groups, extra };
}

/** For example `get on core/configmaps (x) in namespace made`, or `get on /apis`. */
function requestText(attributes: AuthorizationAttributes): string {
  if (!attributes.isResourceRequest) return `${attributes.verb} on ${attributes.path}`;
  const subresource = attributes.subresource === '' ? '' : `/${attributes.subresource}`;
  const name = attributes.name === '' ? '' : ` (${attributes.name})`;
  const namespace = attributes.namespace === '' ? '' : ` in namespace ${attributes.namespace}`;
  return `${attributes.verb} on ${attributes.group === '' ? 'core' : attributes.group}/${attributes.resource}${subresource}${name}${namespace}`;
}

/** Reads a WorkspaceType from the shard; undefined if its logical cluster is on another shard, or it does not exist. */
export async function fetchWorkspaceType(
  { connection }: Pick<ContentModules, 'connection'>,
  parent: Exchange,
  cluster: string,
  name: string,
): Promise<WorkspaceType | undefined> {
  const url = `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspacetypes/${encodeURIComponent(name)}`;
  try {
    const answer = await send(connection, parent, { url }, { method: 'GET', headers: { accept: 'application/json' } });
    return responseObject(answer) as unknown as WorkspaceType;
  } catch (error) {
    if (isStatusError(error) && error.code === 404) return undefined;
    throw error;
  }
}

import { isStatusError, type UserInfo } from '@multiplane/apimachinery';
import {
  isLongRunning,
  ruleAllows,
  writeText,
  type AuthorizationAttributes,
  type Exchange,
  authorizationAttributesOf,
} from '@multiplane/apiserver';
import {
  objectOf,
  parseServicePath,
  request as send,
  type VirtualRequest,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import { lifecycleAccess } from './lifecycle-access.ts';
import {
  asLogicalCluster,
  isSystemId,
  typeOf,
  type Lifecycle,
  type LogicalCluster,
  type WorkspaceType,
} from './lifecycle.ts';
import type { LifecycleModules } from './logical-clusters.ts';

export interface ContentModules extends LifecycleModules {
  /** A WorkspaceType of any shard; undefined when there is none. */
  readonly findType: (parent: Exchange, cluster: string, name: string) => Promise<WorkspaceType | undefined>;
}

/**
 * What is inside of a workspace that waits for an initializer or terminator: requests go on to the shard, and whose name
 * they go on in depends on the type (C8.4).
 *
 * - The type lists permissions: what they allow, and nothing else, goes on in the name of the caller, marked as acting
 *   for the type. The shard judges by the same permissions once more.
 * - It lists none: requests go on in the name of whoever created the workspace.
 */
export function contentWorkspace(lifecycle: Lifecycle, modules: ContentModules): VirtualWorkspace {
  return {
    name: `${lifecycle.service}-workspace-content`,
    resolve: (target) => parseServicePath(target, lifecycle.service, 1),
    accepts: ({ cluster }) => cluster !== '*',
    authorizesByPath: true,
    authorize: lifecycleAccess(lifecycle, modules),
    handle: (request) => proxyContent(lifecycle, modules, request),
  };
}

async function proxyContent(lifecycle: Lifecycle, modules: ContentModules, request: VirtualRequest): Promise<void> {
  const { context, key: id, cluster } = request;
  const { exchange, info } = context;
  const refuse = (status: number, text: string): void => writeText(exchange, status, `${text}\n`);
  const object = await logicalClusterOf(modules, exchange, cluster);
  if (object === undefined)
    return refuse(
      500,
      `error getting logicalcluster ${cluster}|cluster: logicalcluster.core.kcp.io "cluster" not found`,
    );
  if (!lifecycle.holds(object, id)) return refuse(403, `${lifecycle.noun} "${id}" cannot access this workspace`);
  const found = await permissionsOf(lifecycle, modules, exchange, id);
  if ('failure' in found)
    return refuse(
      503,
      `${lifecycle.noun} "${id}": WorkspaceType not found in local or cached indexer; refusing to fall back to owner impersonation: ${found.failure}`,
    );
  let user: UserInfo;
  if (found.rules === undefined) {
    const creator = creatorOf(object);
    if (creator === undefined) return refuse(500, `LogicalCluster ${cluster}|cluster had no createdBy recorded`);
    user = creator;
  } else {
    const attributes = authorizationAttributesOf(context);
    if (!found.rules.some((rule) => ruleAllows(rule, attributes)))
      return refuse(
        403,
        `${lifecycle.noun} "${id}" denied by ${lifecycle.permissions}: no rule allows ${askedText(attributes)}`,
      );
    const { name, uid, groups, extra } = context.user;
    user = { name, uid, extra, groups: [`system:kcp:${lifecycle.noun}:${id}`, ...groups] };
  }
  const query = exchange.url.indexOf('?');
  await modules.connection.forward(exchange, {
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
      objectOf(await send(connection, parent, { url }, { method: 'GET', headers: { accept: 'application/json' } })),
    );
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

type Permissions =
  | { readonly rules: NonNullable<WorkspaceType['spec']>['initializerPermissions'] | undefined }
  | { readonly failure: string };

/** No rules: the type leaves it to its workspaces' creators. A type that cannot be found leaves nothing to anybody. */
async function permissionsOf(
  { permissions }: Lifecycle,
  { findType }: ContentModules,
  parent: Exchange,
  id: string,
): Promise<Permissions> {
  if (isSystemId(id)) return { rules: undefined };
  const place = typeOf(id);
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

/** `get on core/configmaps (x) in namespace made`, or `get on /apis`. */
function askedText(asked: AuthorizationAttributes): string {
  if (!asked.isResourceRequest) return `${asked.verb} on ${asked.path}`;
  const subresource = asked.subresource === '' ? '' : `/${asked.subresource}`;
  const name = asked.name === '' ? '' : ` (${asked.name})`;
  const namespace = asked.namespace === '' ? '' : ` in namespace ${asked.namespace}`;
  return `${asked.verb} on ${asked.group === '' ? 'core' : asked.group}/${asked.resource}${subresource}${name}${namespace}`;
}

/** A WorkspaceType as a shard stores it; of a logical cluster that lies elsewhere it serves no types at all. */
export async function localType(
  { connection }: Pick<ContentModules, 'connection'>,
  parent: Exchange,
  cluster: string,
  name: string,
): Promise<WorkspaceType | undefined> {
  const url = `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspacetypes/${encodeURIComponent(name)}`;
  try {
    const answer = await send(connection, parent, { url }, { method: 'GET', headers: { accept: 'application/json' } });
    return objectOf(answer) as unknown as WorkspaceType;
  } catch (error) {
    if (isStatusError(error) && error.code === 404) return undefined;
    throw error;
  }
}

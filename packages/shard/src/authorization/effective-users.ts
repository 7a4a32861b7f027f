import {
  anonymousUserName,
  authenticatedGroup,
  isJsonObject,
  parseJson,
  unauthenticatedGroup,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import { clusterNameExtra, scopesExtra } from '@multiplane/apiserver';

/** Extra with further identities whose rights a user also has. */
export const warrantExtra = 'authorization.kcp.io/warrant';

const serviceAccountPrefix = 'system:serviceaccount:';
const maxWarrantDepth = 8;

export const isServiceAccount = (user: UserInfo): boolean => user.name.startsWith(serviceAccountPrefix);

/** Name that RBAC may use for a ServiceAccount of another logical cluster. */
export function globalServiceAccountName(cluster: string, userName: string): string {
  return `system:kcp:serviceaccount:${cluster}:${userName.slice(serviceAccountPrefix.length)}`;
}

/** True when the user may be itself in the cluster. */
export function isInScope(user: UserInfo, cluster: LogicalClusterName): boolean {
  if (isServiceAccount(user)) {
    const clusters = user.extra[clusterNameExtra] ?? [];
    if (clusters.length > 1 || (clusters.length === 1 && clusters[0] !== cluster)) return false;
  }
  return (user.extra[scopesExtra] ?? []).every((scopes) => scopes.split(',').includes(`cluster:${cluster}`));
}

/**
 * All users somebody counts as in a logical cluster, in the order in which RBAC tries them (C7.4): the user itself where
 * it is in scope, its global name if it is a ServiceAccount, whoever vouches for it with a warrant, and, where it is
 * out of scope, an anonymous stand-in that is only known to be authenticated.
 */
export function effectiveUsers(user: UserInfo, cluster: LogicalClusterName, depth = 0): readonly UserInfo[] {
  const users: UserInfo[] = [];
  const inScope = isInScope(user, cluster);
  if (inScope) users.push(user);
  const clusters = user.extra[clusterNameExtra] ?? [];
  if (isServiceAccount(user) && clusters.length === 1) {
    users.push({
      name: globalServiceAccountName(clusters[0] as string, user.name),
      uid: '',
      groups: [authenticatedGroup],
      extra: {},
    });
  }
  if (depth < maxWarrantDepth) {
    for (const text of user.extra[warrantExtra] ?? []) {
      const warrant = parseWarrant(text);
      if (warrant !== undefined) users.push(...effectiveUsers(warrant, cluster, depth + 1));
    }
  }
  if (!inScope) users.push(standIn(user));
  return users;
}

/** True when one of those somebody counts as in a cluster is in all of the groups. */
export function countsAsMember(user: UserInfo, cluster: LogicalClusterName, groups: readonly string[]): boolean {
  return effectiveUsers(user, cluster).some((effective) => groups.every((group) => effective.groups.includes(group)));
}

function standIn(user: UserInfo): UserInfo {
  const authenticated = user.groups.includes(authenticatedGroup);
  const scopes = (user.extra[scopesExtra] ?? [])
    .flatMap((value) => value.split(','))
    .filter((scope) => scope.startsWith('cluster:'));
  const origins = [...(user.extra[clusterNameExtra] ?? []), ...scopes.map((scope) => scope.slice('cluster:'.length))];
  return {
    name: anonymousUserName,
    uid: '',
    groups: authenticated
      ? [authenticatedGroup, ...origins.map((origin) => `system:cluster:${origin}`)]
      : [unauthenticatedGroup],
    extra: {},
  };
}

/** A warrant that cannot be read, or one for a ServiceAccount of an unknown cluster, vouches for nobody. */
function parseWarrant(text: string): UserInfo | undefined {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const name = value['user'];
  if (typeof name !== 'string' || name === '') return undefined;
  const strings = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : [];
  const extra: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  if (isJsonObject(value['extra']))
    for (const key of Object.keys(value['extra'])) extra[key.toLowerCase()] = strings(value['extra'][key]);
  if (name.startsWith(serviceAccountPrefix) && (extra[clusterNameExtra] ?? []).length === 0) return undefined;
  return { name, uid: typeof value['uid'] === 'string' ? value['uid'] : '', groups: strings(value['groups']), extra };
}

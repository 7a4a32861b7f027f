import {
  anonymousUserName,
  authenticatedGroup,
  unauthenticatedGroup,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import {
  clusterNameExtra,
  globalServiceAccountName,
  isServiceAccount,
  maxWarrantDepth,
  parseWarrant,
  scopesExtra,
  warrantExtra,
} from '@multiplane/apiserver';

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
  // Nearly everybody is nobody else, anywhere.
  const { extra } = user;
  if (extra[scopesExtra] === undefined && extra[warrantExtra] === undefined && !isServiceAccount(user)) return [user];
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

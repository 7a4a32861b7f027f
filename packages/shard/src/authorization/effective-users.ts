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
} from '@multiplane/generic-server';

/** Whether the scopes of the user include the cluster. */
export function isInScope(user: UserInfo, cluster: LogicalClusterName): boolean {
  if (isServiceAccount(user)) {
    const clusters = user.extra[clusterNameExtra] ?? [];
    if (clusters.length > 1 || (clusters.length === 1 && clusters[0] !== cluster)) return false;
  }
  return (user.extra[scopesExtra] ?? []).every((scopes) => scopes.split(',').includes(`cluster:${cluster}`));
}

/**
 * The identities that a user has in a logical cluster, in the order in which RBAC evaluates them (kcp's
 * `rbac.EffectiveUsers`): the user itself if it is in scope, the global name of a ServiceAccount, the users of its warrants,
 * and, if it is out of scope, an anonymous user in the authenticated group.
 */
export function effectiveUsers(user: UserInfo, cluster: LogicalClusterName, depth = 0): readonly UserInfo[] {
  // Fast path: most users have neither scopes nor warrants.
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
  if (!inScope) users.push(outOfScopeUser(user));
  return users;
}

/** Whether one effective user is a member of all the groups. */
export function countsAsMember(user: UserInfo, cluster: LogicalClusterName, groups: readonly string[]): boolean {
  return effectiveUsers(user, cluster).some((effective) => groups.every((group) => effective.groups.includes(group)));
}

function outOfScopeUser(user: UserInfo): UserInfo {
  const authenticated = user.groups.includes(authenticatedGroup);
  // Only clusters that all values name: impersonation may add a value, which must not add a group.
  const [first = [], ...others] = (user.extra[scopesExtra] ?? []).map((value) => value.split(','));
  const scopes = first.filter(
    (scope) => scope.startsWith('cluster:') && others.every((other) => other.includes(scope)),
  );
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

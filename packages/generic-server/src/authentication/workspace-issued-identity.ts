import { authenticatedGroup, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra, scopesExtra } from './service-account-claims.ts';

/**
 * Sanitizes the user of a token from an issuer of a workspace (kcp `pkg/authentication/{usernames,groups,extra}.go`). The owner
 * of the issuer may claim any identity, so `system:` groups and extra fields of kcp.io are dropped and the user is scoped to the
 * logical cluster. Throws for user names that begin with `system:`.
 */
export function workspaceIssuedIdentity(user: UserInfo, cluster: LogicalClusterName): UserInfo {
  if (user.name.startsWith('system:')) throw new Error('system usernames are not admitted');
  const extra: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
  for (const key of Object.keys(user.extra)) {
    const lower = key.toLowerCase();
    if (!lower.includes('kcp.io')) extra[lower] = user.extra[key] ?? [];
  }
  extra[scopesExtra] = [`cluster:${cluster}`];
  extra[clusterNameExtra] = [cluster];
  return {
    name: user.name,
    uid: user.uid,
    groups: [...user.groups.filter((group) => !group.startsWith('system:')), authenticatedGroup],
    extra,
  };
}

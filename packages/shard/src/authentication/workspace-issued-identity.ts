import { authenticatedGroup, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra, scopesExtra } from '@multiplane/apiserver';

/**
 * Somebody whom an issuer of a workspace vouches for, as this control plane takes it (C7.6). Who owns the issuer may make
 * up anybody: so nobody of the system's, no groups of the system's, none of its extra fields, and the result is worth
 * something in this logical cluster alone. Throws for a user of the system's.
 */
export function foreignIdentity(user: UserInfo, cluster: LogicalClusterName): UserInfo {
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

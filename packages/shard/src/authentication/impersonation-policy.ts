import { mastersGroup, statusErrors, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import {
  clusterNameExtra,
  type ImpersonationPolicy,
  isServiceAccount,
  maxWarrantDepth,
  parseWarrant,
  scopesExtra,
  warrantExtra,
  warrantText,
} from '@multiplane/generic-server';

const adminGroup = 'system:kcp:admin';

/** Groups with rights in all workspaces; impersonation cannot add them. */
const specialGroups = new Set([
  mastersGroup,
  adminGroup,
  'system:kcp:logical-cluster-admin',
  'system:kcp:external-logical-cluster-admin',
  'system:kcp:tenancy:workspace-bootstrapper',
]);

/**
 * Restricts impersonation (kcp `pkg/server/filters/impersonation.go`). The admin of a workspace has all verbs in it, including
 * `impersonate`, so RBAC alone would allow impersonating `system:masters` (GHSA-c7xh-gjv4-4jgv) or forging rights in other
 * workspaces (kcp#4226). Therefore a requester can only impersonate privileged groups that it is a member of, cannot set extra
 * fields under kcp.io other than scopes, which only restrict, warrants, and the logical cluster of a service account, and the
 * impersonated user is scoped to the workspace. The same holds for the user of a warrant, at every depth. Members of `system:masters` are not restricted.
 */
export const impersonationPolicy: ImpersonationPolicy = (context, requester, wanted): UserInfo => {
  if (requester.groups.includes(mastersGroup)) return wanted;
  const { cluster } = context.info;
  return restricted(requester, wanted, cluster === '*' ? undefined : cluster, 0);
};

function restricted(
  requester: UserInfo,
  wanted: UserInfo,
  cluster: LogicalClusterName | undefined,
  depth: number,
): UserInfo {
  const warrants = wanted.extra[warrantExtra] ?? [];
  const forged = Object.keys(wanted.extra).some(
    (key) =>
      key !== scopesExtra &&
      key !== warrantExtra &&
      key.includes('kcp.io') &&
      !(key === clusterNameExtra && mayBeServiceAccount(requester, wanted, cluster)),
  );
  const raised = wanted.groups.some(
    (group) =>
      (specialGroups.has(group) && !requester.groups.includes(group)) ||
      /^system:kcp:(initializer|terminator|apiexport|apiexport-scope):/.test(group),
  );
  // Without a workspace there is nothing that a warrant could be limited to.
  const unlimited = warrants.length > 0 && (cluster === undefined || depth === maxWarrantDepth);
  if (forged || raised || unlimited) {
    throw statusErrors.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
  if (cluster === undefined) return wanted;
  // All values of the scopes extra apply, so those of the requester and of the headers restrict the impersonated user.
  const extra: Record<string, readonly string[]> = {
    ...wanted.extra,
    [scopesExtra]: [
      ...(requester.extra[scopesExtra] ?? []),
      ...(wanted.extra[scopesExtra] ?? []),
      `cluster:${cluster}`,
    ],
  };
  if (warrants.length > 0) {
    // Authorizers ignore warrants that cannot be read; so they are left out.
    const users = warrants.map(parseWarrant).filter((user) => user !== undefined);
    extra[warrantExtra] = users.map((user) => warrantText(restricted(requester, user, cluster, depth + 1)));
  }
  return { ...wanted, extra };
}

/**
 * A service account has the rights of its global name in every workspace, whatever its scopes are. So it may be one of the
 * workspace of the request, to which the requester could also issue tokens, or the requester must have all rights everywhere.
 */
function mayBeServiceAccount(requester: UserInfo, wanted: UserInfo, cluster: LogicalClusterName | undefined): boolean {
  if (!isServiceAccount(wanted) || cluster === undefined) return false;
  if (requester.groups.includes(adminGroup) && requester.extra[scopesExtra] === undefined) return true;
  return wanted.extra[clusterNameExtra]?.every((name) => name === cluster) === true;
}

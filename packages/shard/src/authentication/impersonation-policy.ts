import { mastersGroup, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import { type ImpersonationPolicy, scopesExtra } from '@multiplane/generic-server';

/** Groups with rights in all workspaces; impersonation cannot add them. */
const specialGroups = new Set([
  mastersGroup,
  'system:kcp:admin',
  'system:kcp:logical-cluster-admin',
  'system:kcp:external-logical-cluster-admin',
  'system:kcp:tenancy:workspace-bootstrapper',
]);

/**
 * Restricts impersonation (kcp `pkg/server/filters/impersonation.go`). The admin of a workspace has all verbs in it, including
 * `impersonate`, so RBAC alone would allow impersonating `system:masters` (GHSA-c7xh-gjv4-4jgv) or forging warrants (kcp#4226).
 * Therefore a requester can only impersonate privileged groups that it is a member of, cannot set extra fields under kcp.io
 * other than scopes, which only restrict, and the impersonated user is scoped to the workspace. Members of `system:masters` are not restricted.
 */
export const impersonationPolicy: ImpersonationPolicy = (context, requester, wanted): UserInfo => {
  if (requester.groups.includes(mastersGroup)) return wanted;
  const forged = Object.keys(wanted.extra).some((key) => key !== scopesExtra && key.includes('kcp.io'));
  const raised = wanted.groups.some((group) => specialGroups.has(group) && !requester.groups.includes(group));
  if (
    forged ||
    raised ||
    wanted.groups.some((group) => /^system:kcp:(initializer|terminator|apiexport|apiexport-scope):/.test(group))
  ) {
    throw statusErrors.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
  const { cluster } = context.info;
  if (cluster === undefined || cluster === '*') return wanted;
  // All values of the scopes extra apply, so those of the requester and of the headers restrict the impersonated user.
  const scopes = [...(requester.extra[scopesExtra] ?? []), ...(wanted.extra[scopesExtra] ?? []), `cluster:${cluster}`];
  return { ...wanted, extra: { ...wanted.extra, [scopesExtra]: scopes } };
};

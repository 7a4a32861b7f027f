import { mastersGroup, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import { scopesExtra, type ImpersonationPolicy } from '@multiplane/apiserver';

/** Groups whose members stand above every workspace; nobody becomes one of them who is not (C7.2, C7.5). */
const specialGroups = new Set([
  mastersGroup,
  'system:kcp:admin',
  'system:kcp:logical-cluster-admin',
  'system:kcp:external-logical-cluster-admin',
  'system:kcp:tenancy:workspace-bootstrapper',
]);

/**
 * What impersonation may do in a workspace (C7.5). The admin of a workspace holds every right there, `impersonate`
 * included; RBAC alone would let them act as `system:masters` (GHSA-c7xh-gjv4-4jgv) or bring a warrant of their own
 * making (kcp#4226). So: special groups only for those who are in them, no extras under kcp.io, and the impersonated
 * user counts in this workspace alone. Members of `system:masters` may do everything.
 */
export const impersonationPolicy: ImpersonationPolicy = (context, requester, wanted): UserInfo => {
  if (requester.groups.includes(mastersGroup)) return wanted;
  const forged = Object.keys(wanted.extra).some((key) => key.includes('kcp.io'));
  const raised = wanted.groups.some((group) => specialGroups.has(group) && !requester.groups.includes(group));
  if (
    forged ||
    raised ||
    wanted.groups.some((group) => /^system:kcp:(initializer|terminator|apiexport):/.test(group))
  ) {
    throw statusErrors.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
  const { cluster } = context.info;
  if (cluster === undefined || cluster === '*') return wanted;
  // Scopes of several values are all required: those of the requester go along, so that nobody gets out of them.
  const inherited = requester.extra[scopesExtra] ?? [];
  return { ...wanted, extra: { ...wanted.extra, [scopesExtra]: [...inherited, `cluster:${cluster}`] } };
};

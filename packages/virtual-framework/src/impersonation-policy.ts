import { mastersGroup, statusErrors } from '@multiplane/apimachinery';
import type { ImpersonationPolicy } from '@multiplane/apiserver';

/**
 * Who may act as whom before a virtual workspace (C7.5). What a virtual workspace allows its callers is more than they
 * hold themselves, so nobody becomes a member of a group of the system who is none, and no extras under kcp.io are taken
 * from a client; the rest is up to the rights on the logical cluster.
 */
export const virtualImpersonationPolicy: ImpersonationPolicy = (_context, requester, wanted) => {
  if (requester.groups.includes(mastersGroup)) return wanted;
  const forged = Object.keys(wanted.extra).some((key) => key.includes('kcp.io'));
  const raised = wanted.groups.some(
    (group) => (group === mastersGroup || group.startsWith('system:kcp:')) && !requester.groups.includes(group),
  );
  if (forged || raised)
    throw statusErrors.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  return wanted;
};

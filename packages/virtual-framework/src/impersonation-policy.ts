import { mastersGroup, statusErrors } from '@multiplane/apimachinery';
import type { ImpersonationPolicy } from '@multiplane/generic-server';

/**
 * Which impersonations are allowed in virtual workspaces. Virtual workspaces grant their callers more than they hold
 * themselves, so no request adds a system group that the requester is not a member of, or an extra of kcp.io.
 * Everything else is decided by the `impersonate` verb in the logical cluster.
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

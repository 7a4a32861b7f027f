import { mastersGroup, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import type { Headers } from '@multiplane/apiserver';

const extraPrefix = 'impersonate-extra-';
const reservedKey = 'kcp.io';

/**
 * Warrants and scopes say what a user may do beyond, and where: nobody but system:masters makes them up for somebody else
 * (kcp#4226). The shard says so too; `user` is who it will see. Everything else about impersonation is the shard's to
 * judge (C7.5), which has the rules. Throws a StatusError 403.
 */
export function checkImpersonation(user: UserInfo, headers: Headers): void {
  for (const name in headers) {
    if (!name.startsWith(extraPrefix) || headers[name] === undefined) continue;
    if (!keyOf(name).includes(reservedKey) || user.groups.includes(mastersGroup)) continue;
    throw statusErrors.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
}

/** What cannot be decoded stands for itself. */
function keyOf(name: string): string {
  const escaped = name.slice(extraPrefix.length);
  try {
    return decodeURIComponent(escaped).toLowerCase();
  } catch {
    return escaped;
  }
}

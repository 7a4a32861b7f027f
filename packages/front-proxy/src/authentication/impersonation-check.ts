import { mastersGroup, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra, type Headers, scopesExtra, warrantExtra } from '@multiplane/generic-server';

const extraPrefix = 'impersonate-extra-';
const reservedKey = 'kcp.io';
/** The shard limits them to the workspace of the request. */
const allowedKeys: ReadonlySet<string> = new Set([scopesExtra, warrantExtra, clusterNameExtra]);

/**
 * Rejects impersonated extra fields of kcp other than those that the shard limits, unless the upstream user is in `system:masters`
 * (kcp#4226). The shard checks them as well; it also checks all other impersonation headers. Throws a StatusError 403.
 */
export function checkImpersonation(user: UserInfo, headers: Headers): void {
  for (const name in headers) {
    if (!name.startsWith(extraPrefix) || headers[name] === undefined) continue;
    const key = keyOf(name);
    if (allowedKeys.has(key) || !key.includes(reservedKey) || user.groups.includes(mastersGroup)) continue;
    throw statusErrors.forbidden({ group: '', resource: '' }, '', 'impersonation is not allowed for the requestor');
  }
}

/** Keys that are not valid percent-encoding are used verbatim. */
function keyOf(name: string): string {
  const escaped = name.slice(extraPrefix.length);
  try {
    return decodeURIComponent(escaped).toLowerCase();
  } catch {
    return escaped;
  }
}

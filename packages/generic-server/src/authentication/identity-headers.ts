import type { UserInfo } from '@multiplane/apimachinery';

/** Names of the headers with which a proxy asserts the identity of a user. */
export interface IdentityHeaderNames {
  readonly user: string;
  readonly group: string;
  readonly uid: string;
  readonly extraPrefix: string;
}

/** The default names of Kubernetes and kcp. */
export const defaultIdentityHeaderNames: IdentityHeaderNames = {
  user: 'X-Remote-User',
  group: 'X-Remote-Group',
  uid: 'X-Remote-Uid',
  extraPrefix: 'X-Remote-Extra-',
};

/** Token characters of header names (RFC 9110 §5.6.2) without the percent sign, which starts an escape. */
const plainKey = /^[!#$&'*+.^_`|~0-9a-z-]*$/;
// oxlint-disable-next-line no-control-regex
const controlCharacters = /[\u0000-\u001f\u007f]/;

/**
 * The identity headers for an upstream server, as alternating names and values: one header per group and extra value, extra
 * keys percent-encoded, values in UTF-8. Returns undefined if a value contains control characters; the caller must reject
 * such a request instead of altering the identity.
 */
export function identityHeaders(user: UserInfo, names: IdentityHeaderNames): string[] | undefined {
  const headers = [names.user, headerText(user.name)];
  if (user.uid !== '') headers.push(names.uid, headerText(user.uid));
  for (const group of user.groups) headers.push(names.group, headerText(group));
  for (const [key, extraValues] of Object.entries(user.extra)) {
    const name = names.extraPrefix + escapedKey(key);
    for (const value of extraValues) headers.push(name, headerText(value));
  }
  const values = [user.name, user.uid, ...user.groups, ...Object.values(user.extra).flat()];
  return values.some((text) => controlCharacters.test(text)) ? undefined : headers;
}

function escapedKey(key: string): string {
  if (plainKey.test(key)) return key;
  let escaped = '';
  for (const byte of Buffer.from(key, 'utf8')) {
    const char = String.fromCharCode(byte);
    escaped += plainKey.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}

/** Node writes header values as Latin-1, so the UTF-8 bytes are passed as Latin-1 characters. */
const headerText = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  /^[\u0000-\u007f]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');

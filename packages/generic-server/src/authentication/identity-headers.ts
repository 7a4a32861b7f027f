import type { UserInfo } from '@multiplane/apimachinery';

/** What the headers are called by which a server says who asks. */
export interface IdentityHeaderNames {
  readonly user: string;
  readonly group: string;
  readonly uid: string;
  readonly extraPrefix: string;
}

/** What Kubernetes and kcp call them. */
export const defaultIdentityHeaderNames: IdentityHeaderNames = {
  user: 'X-Remote-User',
  group: 'X-Remote-Group',
  uid: 'X-Remote-Uid',
  extraPrefix: 'X-Remote-Extra-',
};

/** Characters of a header name (RFC 9110 §5.6.2) without the percent sign, which begins an escape. */
const plainKey = /^[!#$&'*+.^_`|~0-9a-z-]*$/;
// oxlint-disable-next-line no-control-regex
const unwritable = /[\u0000-\u001f\u007f]/;

/**
 * The headers that tell a server behind the proxy who asks, names and values in turn (C11.4): one per group and value,
 * keys of extras percent-encoded, texts as the bytes of their UTF-8. Undefined for a user that no header can name: such
 * a request must not go on, least of all under a shorter name.
 */
export function identityHeaders(user: UserInfo, names: IdentityHeaderNames): string[] | undefined {
  const headers = [names.user, headerText(user.name)];
  if (user.uid !== '') headers.push(names.uid, headerText(user.uid));
  for (const group of user.groups) headers.push(names.group, headerText(group));
  for (const [key, values] of Object.entries(user.extra)) {
    const name = names.extraPrefix + escapedKey(key);
    for (const value of values) headers.push(name, headerText(value));
  }
  const texts = [user.name, user.uid, ...user.groups, ...Object.values(user.extra).flat()];
  return texts.some((text) => unwritable.test(text)) ? undefined : headers;
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

/** Headers are written as Latin-1: these are the bytes of the text's UTF-8. */
const headerText = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  /^[\u0000-\u007f]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');

import { hash } from 'node:crypto';

/** What a token is known by where it is kept. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'base64');

/**
 * Digests of tokens as they come. Most connections bring the same token with every request, and hashing it is a sixteenth
 * of a small one: what a connection brought last is kept as long as the connection. A front-proxy's connection brings
 * tokens of many people, so the time of the comparison tells no more than the length of another one.
 */
export class TokenDigests {
  readonly #last = new WeakMap<object, { readonly token: string; readonly digest: string }>();

  of(token: string, connection: object | undefined): string {
    if (connection === undefined) return tokenDigest(token);
    const last = this.#last.get(connection);
    if (last !== undefined && isSameText(last.token, token)) return last.digest;
    const digest = tokenDigest(token);
    this.#last.set(connection, { token, digest });
    return digest;
  }
}

/** Looks at all of both, whatever it finds. */
function isSameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

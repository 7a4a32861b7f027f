import { hash } from 'node:crypto';

/** The hash under which tokens are stored. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'base64');

/**
 * Hashes tokens and caches the last hash per connection, because most connections send the same token with every request and
 * hashing it is 1/16 of the cost of a small request. A connection of a front-proxy carries tokens of several users, so the
 * comparison takes constant time and discloses at most the length of another token.
 */
export class TokenDigests {
  readonly #last = new WeakMap<object, { readonly token: string; readonly digest: string }>();

  of(token: string, connection: object | undefined): string {
    if (connection === undefined) return tokenDigest(token);
    const last = this.#last.get(connection);
    if (last !== undefined && equalsInConstantTime(last.token, token)) return last.digest;
    const digest = tokenDigest(token);
    this.#last.set(connection, { token, digest });
    return digest;
  }
}

/** Compares all characters, also after a difference. */
function equalsInConstantTime(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

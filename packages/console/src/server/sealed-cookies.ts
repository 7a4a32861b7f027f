import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sealData, unsealData } from 'iron-session';
import { basePath } from './base-path.ts';

/** A cookie that only this process can read. */
export interface SealedCookie {
  readonly name: string;
  /** Below which the browser sends it. */
  readonly path: string;
  /**
   * Strict: never with a request that another site caused. Lax: with a navigation from another site as well, which is how an
   * issuer sends the browser back.
   */
  readonly sameSite: 'Strict' | 'Lax';
  readonly maxAgeSeconds: number;
}

/** Without the slash at the end: the browser sends it with `/console`, too. */
const path = basePath.slice(0, -1);

export const sessionCookie = (maxAgeSeconds: number): SealedCookie => ({
  name: '__Secure-multiplane-console',
  path,
  sameSite: 'Strict',
  maxAgeSeconds,
});

/** State of a log-in between its start and the return of the browser. */
export const loginCookie: SealedCookie = {
  name: '__Secure-multiplane-console-login',
  path: `${path}/login/oidc`,
  sameSite: 'Lax',
  maxAgeSeconds: 600,
};

/** Seals and opens cookies, with a key that never leaves this process. */
export class SealedCookies {
  readonly #password = randomBytes(32).toString('base64url');

  /** The content of a cookie of a request; undefined if it is absent, expired or was not sealed here. */
  async read<T extends object>(request: IncomingMessage, cookie: SealedCookie): Promise<T | undefined> {
    const sealed = valueOf(request.headers.cookie, cookie.name);
    if (sealed === undefined) return undefined;
    const options = { password: this.#password, ttl: cookie.maxAgeSeconds };
    try {
      const content = await unsealData<T>(sealed, options);
      return Object.keys(content).length === 0 ? undefined : content;
    } catch {
      // Of an earlier process, or not even a seal.
      return undefined;
    }
  }

  async set(response: ServerResponse, cookie: SealedCookie, content: object): Promise<void> {
    const sealed = await sealData(content, { password: this.#password, ttl: cookie.maxAgeSeconds });
    response.appendHeader('set-cookie', text(cookie, sealed, cookie.maxAgeSeconds));
  }

  clear(response: ServerResponse, cookie: SealedCookie): void {
    response.appendHeader('set-cookie', text(cookie, '', 0));
  }
}

const text = ({ name, path, sameSite }: SealedCookie, value: string, maxAge: number): string =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; Secure; SameSite=${sameSite}`;

function valueOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

import type { UserInfo } from '@multiplane/apimachinery';
import { LRUCache } from 'lru-cache';
import type { Exchange } from '../server/exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator, MaybePromise } from './authenticator.ts';
import { ClientCertificateVerifier, type CertificateAuthorities } from './client-certificate.ts';

/** The flags `--requestheader-*`. Header names in any case. */
export interface RequestHeaderOptions {
  /** Common names of trusted proxies; empty: every certificate of the authorities. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly extraHeadersPrefix: readonly string[];
  /** Time in milliseconds, for the validity of certificates. */
  readonly now: () => number;
}

/** The default header names of Kubernetes and kcp. */
export const defaultIdentityHeaders = {
  usernameHeaders: ['X-Remote-User'],
  groupHeaders: ['X-Remote-Group'],
  uidHeaders: ['X-Remote-Uid'],
  extraHeadersPrefix: ['X-Remote-Extra-'],
} as const;

/** Identity headers of one request: alternating names and values. */
type RemovedHeaders = readonly (string | readonly string[])[];

/** Cached identities, and the length of the headers above which an identity is not cached. */
const maxCachedUsers = 1_024;
const maxCachedLength = 4_096;
/** Cached header names; clients may send arbitrary ones. */
const maxCachedNames = 256;

/**
 * Authenticates users by the identity headers of a trusted proxy. It must be the first authenticator of a server, also if no
 * proxy is trusted:
 *
 * 1. It removes all identity headers from the request: configured and default names, in any case, also with `_` for `-`. Later
 *    stages, including handlers that forward the request, never see identity headers that a client invented
 *    (GHSA-c8w2-fgvx-vhv4).
 * 2. It trusts the removed headers only if the connection has a client certificate of the proxy authorities with an allowed
 *    common name. A request of a proxy without identity headers has no credential of this kind: proxies forward anonymous
 *    requests and bearer tokens unchanged.
 *
 * Equal headers yield the same user object, because later stages cache by user object.
 */
export class RequestHeaderAuthenticator implements RequestAuthenticator {
  readonly #options: {
    readonly allowedNames: ReadonlySet<string>;
    readonly username: readonly string[];
    readonly group: readonly string[];
    readonly uid: readonly string[];
    readonly extra: readonly string[];
  };
  /** Canonical names and prefixes of headers to remove. */
  readonly #names: ReadonlySet<string>;
  readonly #prefixes: readonly string[];
  readonly #verifier: ClientCertificateVerifier | undefined;
  /** Whether a header name is an identity header; clients mostly send the same names. */
  readonly #isIdentityByName = new Map<string, boolean>();
  /** By the JSON of the removed headers. */
  readonly #users = new LRUCache<string, AuthenticationResponse>({ max: maxCachedUsers });

  constructor(
    options: RequestHeaderOptions,
    modules: {
      /** Absent: no proxy is trusted. */
      readonly authorities?: CertificateAuthorities | undefined;
    },
  ) {
    this.#options = {
      allowedNames: new Set(options.allowedNames),
      username: options.usernameHeaders.map(lower),
      group: options.groupHeaders.map(lower),
      uid: options.uidHeaders.map(lower),
      extra: options.extraHeadersPrefix.map(lower),
    };
    const { usernameHeaders, groupHeaders, uidHeaders, extraHeadersPrefix } = defaultIdentityHeaders;
    const { username, group, uid, extra } = this.#options;
    this.#names = new Set(
      [...username, ...group, ...uid, ...usernameHeaders, ...groupHeaders, ...uidHeaders].map(canonical),
    );
    this.#prefixes = [...new Set([...extra, ...extraHeadersPrefix].map(canonical))];
    this.#verifier =
      modules.authorities === undefined
        ? undefined
        : new ClientCertificateVerifier(options, { authorities: modules.authorities });
  }

  authenticate(exchange: Exchange): MaybePromise<AuthenticationResponse | undefined> {
    const removed = this.#removeHeaders(exchange);
    if (removed === undefined || !this.isProxy(exchange)) return undefined;
    const key = JSON.stringify(removed);
    const cached = this.#users.get(key);
    if (cached !== undefined) return cached;
    const response = this.#readUser(removed);
    if (response !== undefined && key.length <= maxCachedLength) this.#users.set(key, response);
    return response;
  }

  #readUser(raw: RemovedHeaders): AuthenticationResponse | undefined {
    const headers = new Map<string, readonly string[]>();
    for (let i = 0; i < raw.length; i += 2) {
      const value = raw[i + 1] as string | readonly string[];
      headers.set(raw[i] as string, (typeof value === 'string' ? [value] : value).map(textOfHeader));
    }
    const { username, group, uid, extra } = this.#options;
    const name = singleValue(headers, username);
    if (name === undefined || name === '') return undefined;
    const user: UserInfo = {
      name,
      uid: singleValue(headers, uid) ?? '',
      groups: group.flatMap((header) => (headers.get(header) ?? []).filter((value) => value !== '')),
      extra: extraOf(headers, extra),
    };
    return { user };
  }

  /** True for the connection of a trusted proxy, whose certificate is not the credential of a user. */
  isProxy({ socket }: Exchange): boolean {
    if (this.#verifier === undefined) return false;
    let certificate;
    try {
      certificate = this.#verifier.verify(socket);
    } catch {
      // Possibly a user's certificate, which another authenticator verifies.
      return false;
    }
    const { allowedNames } = this.#options;
    return certificate !== undefined && (allowedNames.size === 0 || allowedNames.has(certificate.commonName));
  }

  /** Removes the identity headers from the request and returns them; undefined if there are none. */
  #removeHeaders({ headers }: Exchange): RemovedHeaders | undefined {
    let removed: (string | readonly string[])[] | undefined;
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined || !this.#isIdentity(name)) continue;
      removed ??= [];
      removed.push(name, value);
      (headers as Record<string, unknown>)[name] = undefined;
    }
    return removed;
  }

  #isIdentity(name: string): boolean {
    let isIdentity = this.#isIdentityByName.get(name);
    if (isIdentity === undefined) {
      const canonicalName = canonical(name);
      isIdentity = this.#names.has(canonicalName) || this.#prefixes.some((prefix) => canonicalName.startsWith(prefix));
      if (this.#isIdentityByName.size < maxCachedNames) this.#isIdentityByName.set(name, isIdentity);
    }
    return isIdentity;
  }
}

/** Node decodes headers as Latin-1; identity headers are UTF-8. */
const textOfHeader = (value: string): string => Buffer.from(value, 'latin1').toString();
const lower = (name: string): string => name.toLowerCase();
/** Intermediate servers may replace `-` by `_`. */
const canonical = (name: string): string => {
  const lowerCase = name.toLowerCase();
  return lowerCase.includes('_') ? lowerCase.replaceAll('_', '-') : lowerCase;
};

/** The value of the first header that is present. Throws if it is repeated. */
function singleValue(headers: ReadonlyMap<string, readonly string[]>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const values = headers.get(name);
    if (values === undefined) continue;
    if (values.length > 1) throw new Error(`the header ${name} is repeated`);
    return values[0];
  }
  return undefined;
}

function extraOf(
  headers: ReadonlyMap<string, readonly string[]>,
  prefixes: readonly string[],
): Record<string, readonly string[]> {
  const extra = Object.create(null) as Record<string, readonly string[]>;
  for (const [name, values] of headers) {
    const prefix = prefixes.find((candidate) => name.startsWith(candidate));
    if (prefix === undefined || name.length === prefix.length) continue;
    const key = unescapeKey(name.slice(prefix.length));
    extra[key] = [...(extra[key] ?? []), ...values];
  }
  return extra;
}

/** Decodes the percent-encoding of an extra key. Keys that are not valid percent-encoding are used verbatim. */
function unescapeKey(escaped: string): string {
  try {
    return decodeURIComponent(escaped).toLowerCase();
  } catch {
    return escaped;
  }
}

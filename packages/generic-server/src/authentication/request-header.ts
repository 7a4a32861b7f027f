import type { UserInfo } from '@multiplane/apimachinery';
import type { Exchange } from '../exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator, Soon } from './authenticator.ts';
import { ClientCertificateVerifier, type CertificateAuthorities } from './client-certificate.ts';

/** Flags `--requestheader-*` (C11.5); names of headers in any case. */
export interface RequestHeaderOptions {
  /** CNs whose word is taken; empty: every certificate of the authorities. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly extraHeadersPrefix: readonly string[];
  /** Time in milliseconds; certificates are valid or not by it. */
  readonly now: () => number;
}

/** What Kubernetes and kcp call them; what a server sends that speaks for others (C11.4). */
export const defaultIdentityHeaders = {
  usernameHeaders: ['X-Remote-User'],
  groupHeaders: ['X-Remote-Group'],
  uidHeaders: ['X-Remote-Uid'],
  extraHeadersPrefix: ['X-Remote-Extra-'],
} as const;

/** Headers of one request as they came, names and values in turn. */
type TakenHeaders = readonly (string | readonly string[])[];

/** Identities that are remembered, and the most that the headers of one of them may take. */
const maxKnown = 1_024;
const maxKnownLength = 4_096;
/** Names of headers that are remembered; clients make names up. */
const maxNames = 256;

/**
 * The identity that a front-proxy established (K7.2, C11.4). It must be the first authenticator of all, also where no
 * proxy is trusted, because it does two things:
 *
 * 1. It takes every identity header out of the request: configured or default name, any case, `_` for `-`. Whatever
 *    comes later, a handler that forwards the request included, never sees what a client made up (GHSA-c8w2-fgvx-vhv4).
 * 2. Only when the connection shows a certificate of the trusted authorities with an allowed CN, what was taken out is
 *    believed. A request of such a proxy without an identity presents nothing by it: the proxy passes on strangers and
 *    bearer tokens as they came.
 *
 * The same headers are always the same user object: a proxy sends thousands of requests for each of its users, and what
 * follows from a user is kept by the object.
 */
export class RequestHeaderAuthenticator implements RequestAuthenticator {
  readonly #options: {
    readonly allowedNames: ReadonlySet<string>;
    readonly username: readonly string[];
    readonly group: readonly string[];
    readonly uid: readonly string[];
    readonly extra: readonly string[];
  };
  /** Canonical names, and beginnings of names, that are taken out. */
  readonly #names: ReadonlySet<string>;
  readonly #prefixes: readonly string[];
  readonly #verifier: ClientCertificateVerifier | undefined;
  /** Whether a name is one of an identity: the same few come with every request. */
  readonly #verdicts = new Map<string, boolean>();
  /** By the headers they came in, the oldest first. */
  readonly #known = new Map<string, AuthenticationResponse>();

  constructor(
    options: RequestHeaderOptions,
    modules: {
      /** Absent: nobody's word is taken. */
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

  authenticate(exchange: Exchange): Soon<AuthenticationResponse | undefined> {
    const taken = this.#take(exchange);
    if (taken === undefined || !this.isProxy(exchange)) return undefined;
    const key = JSON.stringify(taken);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const response = this.#read(taken);
    if (response === undefined || key.length > maxKnownLength) return response;
    if (this.#known.size === maxKnown) {
      const [oldest] = this.#known.keys();
      this.#known.delete(oldest as string);
    }
    this.#known.set(key, response);
    return response;
  }

  #read(raw: TakenHeaders): AuthenticationResponse | undefined {
    const taken = new Map<string, readonly string[]>();
    for (let i = 0; i < raw.length; i += 2) {
      const value = raw[i + 1] as string | readonly string[];
      taken.set(raw[i] as string, (typeof value === 'string' ? [value] : value).map(textOfHeader));
    }
    const { username, group, uid, extra } = this.#options;
    const name = first(taken, username);
    if (name === undefined || name === '') return undefined;
    const user: UserInfo = {
      name,
      uid: first(taken, uid) ?? '',
      groups: group.flatMap((header) => (taken.get(header) ?? []).filter((value) => value !== '')),
      extra: extraOf(taken, extra),
    };
    return { user };
  }

  /** True for a connection of somebody who may speak for others; its certificate is no credential of a user. */
  isProxy({ socket }: Exchange): boolean {
    if (this.#verifier === undefined) return false;
    let certificate;
    try {
      certificate = this.#verifier.verify(socket);
    } catch {
      // A user's certificate, for the next authenticator to judge.
      return false;
    }
    const { allowedNames } = this.#options;
    return certificate !== undefined && (allowedNames.size === 0 || allowedNames.has(certificate.commonName));
  }

  /** The identity headers as they came; from now on the request has none. Undefined: there were none. */
  #take({ headers }: Exchange): TakenHeaders | undefined {
    let taken: (string | readonly string[])[] | undefined;
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined || !this.#isIdentity(name)) continue;
      taken ??= [];
      taken.push(name, value);
      (headers as Record<string, unknown>)[name] = undefined;
    }
    return taken;
  }

  #isIdentity(name: string): boolean {
    let verdict = this.#verdicts.get(name);
    if (verdict === undefined) {
      const plain = canonical(name);
      verdict = this.#names.has(plain) || this.#prefixes.some((prefix) => plain.startsWith(prefix));
      if (this.#verdicts.size < maxNames) this.#verdicts.set(name, verdict);
    }
    return verdict;
  }
}

/** Node reads headers as Latin-1; what stands in them is UTF-8 (C11.4). */
const textOfHeader = (value: string): string => Buffer.from(value, 'latin1').toString();
const lower = (name: string): string => name.toLowerCase();
/** Servers on the way may turn one spelling into the other. */
const canonical = (name: string): string => {
  const small = name.toLowerCase();
  return small.includes('_') ? small.replaceAll('_', '-') : small;
};

/** The value of the first header that is there. Throws when it is repeated: nobody has two names. */
function first(headers: ReadonlyMap<string, readonly string[]>, names: readonly string[]): string | undefined {
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

/** Header names bear few characters: the others come percent-encoded. What cannot be decoded stands for itself. */
function unescapeKey(escaped: string): string {
  try {
    return decodeURIComponent(escaped).toLowerCase();
  } catch {
    return escaped;
  }
}

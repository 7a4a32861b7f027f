import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { getOwn, isJsonObject, parseJson, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type { WebhookClient } from '../../webhooks/webhook-client.ts';

export interface IssuerKeysOptions {
  readonly url: string;
  /** Where the discovery document is; empty: below the URL. */
  readonly discoveryURL: string;
  /** PEM; empty: the usual authorities. */
  readonly certificateAuthority: string;
  /** Who named the issuer. */
  readonly tenant: string;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** A key of an issuer. */
export interface IssuerKey {
  readonly id: string | undefined;
  /** The one algorithm it is for; undefined: any that fits its type. */
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

const timeoutMs = 10_000;
const maxDocumentBytes = 1024 * 1024;
const maxKeys = 128;
/** After a fetch, whatever came of it, the next one is at least so far away. */
const pauseMs = 10_000;
/** Keys older than this are fetched again beside the requests that use them. */
const maxAgeMs = 60 * 60_000;

/**
 * The keys that an OpenID Connect issuer signs with (OpenID Connect Discovery 1.0; RFC 7517): discovery document, then
 * key set, both over TLS.
 *
 * Nothing is fetched for a token whose key is known. An unknown key, or a signature that no known key made, asks for a
 * fetch: one at a time, all who wait share it, and at most one per 10 seconds, so that made up key ids cost the issuer
 * nothing. Keys of a past fetch are used as long as no newer ones could be had. Old ones are renewed without anybody
 * waiting.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #client: WebhookClient;
  readonly #clock: Clock;
  #keys: readonly IssuerKey[] | undefined;
  #failure: unknown;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions, modules: { readonly client: WebhookClient; readonly clock: Clock }) {
    this.#options = options;
    this.#client = modules.client;
    this.#clock = modules.clock;
  }

  /** The keys that are known, fetched first when there are none. Throws when they cannot be had. */
  async current(): Promise<readonly IssuerKey[]> {
    if (this.#keys === undefined) await this.#fetch();
    else if (this.#clock.monotonic() - this.#fetchedAt > maxAgeMs) void this.#fetch();
    if (this.#keys === undefined) throw new Error('oidc: authenticator not initialized', { cause: this.#failure });
    return this.#keys;
  }

  /** Newer keys than these; undefined when there are none now. */
  async newer(than: readonly IssuerKey[]): Promise<readonly IssuerKey[] | undefined> {
    if (this.#keys === than) await this.#fetch();
    return this.#keys === than ? undefined : this.#keys;
  }

  /** Never fails: what went wrong is kept for whoever finds no keys. */
  #fetch(): Promise<void> {
    if (this.#fetching !== undefined) return this.#fetching;
    const now = this.#clock.monotonic();
    if (now - this.#triedAt < pauseMs) return Promise.resolve();
    this.#triedAt = now;
    this.#fetching = this.#load()
      .then(
        (keys) => {
          this.#keys = keys;
          this.#fetchedAt = this.#clock.monotonic();
        },
        (error: unknown) => {
          this.#failure = error;
        },
      )
      .finally(() => {
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #load(): Promise<readonly IssuerKey[]> {
    const { url, discoveryURL } = this.#options;
    const discovery = await this.#document(
      discoveryURL === ''
        ? `${url.endsWith('/') ? url.slice(0, -1) : url}/.well-known/openid-configuration`
        : discoveryURL,
    );
    const issuer = getOwn(discovery, 'issuer');
    if (issuer !== url)
      throw new Error(
        `oidc: issuer did not match the issuer returned by provider, expected ${JSON.stringify(url)} got ${JSON.stringify(issuer ?? '')}`,
      );
    const keySetUrl = getOwn(discovery, 'jwks_uri');
    if (typeof keySetUrl !== 'string' || !URL.canParse(keySetUrl) || new URL(keySetUrl).protocol !== 'https:')
      throw new Error('oidc: the discovery document names no key set at an https URL');
    const keys = getOwn(await this.#document(keySetUrl), 'keys');
    if (!Array.isArray(keys)) throw new Error('oidc: the key set has no keys');
    return keys.slice(0, maxKeys).flatMap(readKey);
  }

  async #document(url: string): Promise<JsonObject> {
    const { certificateAuthority, tenant, signal } = this.#options;
    const body = await this.#client.get({
      tenant,
      url,
      ...(certificateAuthority === '' ? {} : { caBundle: certificateAuthority }),
      timeoutMs,
      timeoutText: 'context deadline exceeded',
      signal,
      maxResponseBytes: maxDocumentBytes,
    });
    const document = parseJson(body.toString('utf8'));
    if (!isJsonObject(document)) throw new Error(`oidc: ${url} is not a JSON object`);
    return document;
  }
}

/** A public key that signs; anything else in the set, a shared secret above all, is passed over. */
function readKey(jwk: Json): IssuerKey[] {
  if (!isJsonObject(jwk) || getOwn(jwk, 'use') === 'enc') return [];
  const [id, algorithm, type] = ['kid', 'alg', 'kty'].map((name) => getOwn(jwk, name));
  if (type !== 'RSA' && type !== 'EC') return [];
  try {
    const key = createPublicKey({ key: jwk as unknown as JsonWebKey, format: 'jwk' });
    return [
      {
        id: typeof id === 'string' ? id : undefined,
        algorithm: typeof algorithm === 'string' ? algorithm : undefined,
        key,
      },
    ];
  } catch {
    // A curve or an encoding that nobody here knows: tokens signed with it are refused.
    return [];
  }
}

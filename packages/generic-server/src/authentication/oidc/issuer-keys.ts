import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { getOwn, isJsonObject, parseJson, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type { WebhookClient } from '../../webhooks/webhook-client.ts';

export interface IssuerKeysOptions {
  readonly url: string;
  /** URL of the discovery document; empty: the well-known path below `url`. */
  readonly discoveryURL: string;
  /** PEM; empty: the root certificates of the system. */
  readonly certificateAuthority: string;
  /** Owner of the configuration, for the limits of {@link WebhookClient}. */
  readonly tenant: string;
  /** Aborts running fetches. */
  readonly signal: AbortSignal;
}

/** A public key of an issuer. */
export interface IssuerKey {
  readonly id: string | undefined;
  /** The only algorithm of the key; undefined: any that suits its type. */
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

const timeoutMs = 10_000;
const maxDocumentBytes = 1024 * 1024;
const maxKeys = 128;
/** Minimum time between two fetches, successful or not. */
const minFetchIntervalMs = 10_000;
/** Older keys are refreshed in the background. */
const maxAgeMs = 60 * 60_000;

/**
 * The signing keys of an OpenID Connect issuer, fetched over TLS: discovery document (OpenID Connect Discovery 1.0), then key
 * set (RFC 7517).
 *
 * Tokens signed with a known key cause no fetch. An unknown key id, or a signature that no known key verifies, triggers one:
 * concurrent requests share it, and there is at most one per {@link minFetchIntervalMs}, so that invented key ids do not load
 * the issuer. Keys stay in use until a later fetch succeeds; old keys are refreshed in the background.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #client: WebhookClient;
  readonly #clock: Clock;
  #keys: readonly IssuerKey[] | undefined;
  #failure: unknown;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions, modules: { readonly client: WebhookClient; readonly clock: Clock }) {
    this.#options = options;
    this.#client = modules.client;
    this.#clock = modules.clock;
  }

  /** The known keys; fetches them if there are none. Throws if that fails. */
  async current(): Promise<readonly IssuerKey[]> {
    if (this.#keys === undefined) await this.#fetch();
    else if (this.#clock.monotonic() - this.#fetchedAt > maxAgeMs) void this.#fetch();
    if (this.#keys === undefined) throw new Error('oidc: authenticator not initialized', { cause: this.#failure });
    return this.#keys;
  }

  /** Newer keys than the given ones, after a fetch if necessary; undefined if there are none. */
  async newer(than: readonly IssuerKey[]): Promise<readonly IssuerKey[] | undefined> {
    if (this.#keys === than) await this.#fetch();
    return this.#keys === than ? undefined : this.#keys;
  }

  /** Never rejects; the failure is kept as the cause of the error of {@link current}. */
  #fetch(): Promise<void> {
    if (this.#fetching !== undefined) return this.#fetching;
    const now = this.#clock.monotonic();
    if (now - this.#attemptedAt < minFetchIntervalMs) return Promise.resolve();
    this.#attemptedAt = now;
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
      throw new Error('oidc: the discovery document has no https jwks_uri');
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

/** An RSA or EC signature key; other entries of the set, shared secrets in particular, are ignored. */
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
    // An unsupported curve or encoding: tokens signed with the key are rejected.
    return [];
  }
}

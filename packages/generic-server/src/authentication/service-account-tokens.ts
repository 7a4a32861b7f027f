import { createHash, createPublicKey, randomUUID, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { AuthenticationResponse, TokenAuthenticator } from './authenticator.ts';
import {
  legacyIssuer,
  readClaims,
  unverifiedIssuer,
  userOf,
  type ServiceAccountClaims,
} from './service-account-claims.ts';
import { TokenDigests } from './token-digests.ts';

/** Loaded on first use, because a server may never see a token. */
const loadJose = () => import('jose');

/** The object besides its ServiceAccount to which a token is bound. */
export interface BoundObject {
  readonly kind: 'Secret';
  readonly name: string;
  readonly uid: string;
}

/** Synchronous reads of the objects of tokens. Reads must be current: a token ends when its objects are deleted. */
export interface ServiceAccountGetter {
  serviceAccount(cluster: LogicalClusterName, namespace: string, name: string): DeepReadonly<KubeObject> | undefined;
  secret(cluster: LogicalClusterName, namespace: string, name: string): DeepReadonly<KubeObject> | undefined;
}

/** {@link ServiceAccountGetter} whose reads may require a request to another shard. */
export interface ServiceAccountLookup {
  serviceAccount(...of: Parameters<ServiceAccountGetter['serviceAccount']>): Found | Promise<Found>;
  secret(...of: Parameters<ServiceAccountGetter['secret']>): Found | Promise<Found>;
}
type Found = DeepReadonly<KubeObject> | undefined;

interface ServiceAccountTokenOptions {
  /** Accepted issuers; the first one is the issuer of new tokens. */
  readonly issuers: readonly string[];
  /** Private key for new tokens; tokens are verified with its public key and with `verificationKeys`. A server without one issues no tokens. */
  readonly signingKey?: KeyObject | undefined;
  readonly verificationKeys?: readonly KeyObject[];
  /** Time in milliseconds. */
  readonly now: () => number;
}

/** Tolerated clock skew, and how long tokens stay valid while their object is being deleted; values of kube-apiserver. */
const leewaySeconds = 60;
const maxVerifiedTokens = 4096;

/**
 * Issues and authenticates ServiceAccount tokens with kcp's `clusterName` claim. The signature of a token is verified once and
 * cached by the hash of the token. Expiry, audience, ServiceAccount and bound object are checked for every request, so deleting
 * one of the objects revokes the token immediately.
 */
export class ServiceAccountTokens implements TokenAuthenticator {
  readonly #options: ServiceAccountTokenOptions;
  readonly #getter: ServiceAccountLookup;
  readonly #keys: readonly { readonly id: string; readonly key: KeyObject; readonly algorithm: string }[];
  readonly #verified = new LRUCache<string, ServiceAccountClaims>({ max: maxVerifiedTokens });
  readonly #digests = new TokenDigests();
  constructor(options: ServiceAccountTokenOptions, modules: { readonly getter: ServiceAccountLookup }) {
    this.#options = options;
    this.#getter = modules.getter;
    const { signingKey, verificationKeys = [] } = options;
    const publicKeys = [...(signingKey === undefined ? [] : [createPublicKey(signingKey)]), ...verificationKeys];
    this.#keys = publicKeys.map((key) => ({ id: keyId(key), key, algorithm: algorithmOf(key) }));
  }

  /** Audiences of tokens whose TokenRequest names none. */
  get defaultAudiences(): readonly string[] {
    return this.#options.issuers;
  }

  /** Issues a token. `expires` is in seconds since the epoch. */
  async issue(request: {
    readonly cluster: LogicalClusterName;
    readonly namespace: string;
    readonly serviceAccount: { readonly name: string; readonly uid: string };
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObject?: BoundObject | undefined;
  }): Promise<{ token: string; expires: number; id: string }> {
    const now = Math.floor(this.#options.now() / 1000);
    const id = randomUUID();
    const signer = this.#keys[0] as { id: string; algorithm: string };
    const claims = {
      namespace: request.namespace,
      clusterName: request.cluster,
      serviceaccount: request.serviceAccount,
      ...(request.boundObject === undefined
        ? {}
        : { secret: { name: request.boundObject.name, uid: request.boundObject.uid } }),
    };
    const expires = now + request.expirationSeconds;
    const { SignJWT } = await loadJose();
    const token = await new SignJWT({ 'kubernetes.io': claims })
      .setProtectedHeader({ alg: signer.algorithm, kid: signer.id })
      .setAudience([...request.audiences])
      .setExpirationTime(expires)
      .setIssuedAt(now)
      .setNotBefore(now)
      .setIssuer(this.#options.issuers[0] as string)
      .setJti(id)
      .setSubject(`system:serviceaccount:${request.namespace}:${request.serviceAccount.name}`)
      .sign(this.#signingKey());
    return { token, expires, id };
  }

  /** Issues the token of a `kubernetes.io/service-account-token` Secret: it does not expire, but is valid only while the Secret contains it. */
  async issueLegacy(request: {
    readonly cluster: LogicalClusterName;
    readonly namespace: string;
    readonly secretName: string;
    readonly serviceAccount: { readonly name: string; readonly uid: string };
  }): Promise<string> {
    const signer = this.#keys[0] as { id: string; algorithm: string };
    const prefix = 'kubernetes.io/serviceaccount/';
    const { SignJWT } = await loadJose();
    return new SignJWT({
      [`${prefix}namespace`]: request.namespace,
      [`${prefix}secret.name`]: request.secretName,
      [`${prefix}service-account.name`]: request.serviceAccount.name,
      [`${prefix}service-account.uid`]: request.serviceAccount.uid,
      [`${prefix}clusterName`]: request.cluster,
    })
      .setProtectedHeader({ alg: signer.algorithm, kid: signer.id })
      .setIssuer(legacyIssuer)
      .setSubject(`system:serviceaccount:${request.namespace}:${request.serviceAccount.name}`)
      .sign(this.#signingKey());
  }

  /** The key set for `/openid/v1/jwks`. */
  keySet(): { readonly keys: readonly JsonWebKey[] } {
    return {
      keys: this.#keys.map(({ key, id, algorithm }) => ({
        use: 'sig',
        kid: id,
        alg: algorithm,
        ...key.export({ format: 'jwk' }),
      })),
    };
  }

  /** The document for `/.well-known/openid-configuration`. */
  discoveryDocument(jwksUri: string): Record<string, unknown> {
    return {
      issuer: this.#options.issuers[0],
      jwks_uri: jwksUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(this.#keys.map(({ algorithm }) => algorithm))].sort(),
    };
  }

  /** Returns undefined for a token of another issuer; throws for an invalid token of this server's issuers. */
  async authenticateToken(
    token: string,
    audiences: readonly string[],
    connection?: object,
  ): Promise<AuthenticationResponse | undefined> {
    const claims = await this.#claims(token, connection);
    if (claims === undefined) return undefined;
    const accepted = this.#checkTimesAndAudience(claims.payload, audiences);
    const account = await this.#getter.serviceAccount(claims.cluster, claims.namespace, claims.serviceAccount.name);
    this.#checkExists('ServiceAccount', account, claims.serviceAccount.uid);
    if (claims.secret !== undefined) {
      const secret = await this.#getter.secret(claims.cluster, claims.namespace, claims.secret.name);
      this.#checkExists('Secret', secret, claims.secret.uid === '' ? (secret?.metadata.uid ?? '') : claims.secret.uid);
      if (claims.payload.iss === legacyIssuer && !holdsToken(secret, token))
        throw new Error('the secret no longer holds this token');
    }
    return { user: userOf(claims), audiences: accepted };
  }

  #signingKey(): KeyObject {
    const { signingKey } = this.#options;
    if (signingKey === undefined) throw new TypeError('this server has no key to sign tokens');
    return signingKey;
  }

  #checkTimesAndAudience(payload: JWTPayload, audiences: readonly string[]): readonly string[] {
    const now = this.#options.now() / 1000;
    if (payload.exp !== undefined && now > payload.exp + leewaySeconds)
      throw new Error('service account token has expired');
    if (payload.nbf !== undefined && now < payload.nbf - leewaySeconds)
      throw new Error('service account token is not valid yet');
    if (payload.iss === legacyIssuer) return audiences;
    const tokenAudiences = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? []);
    const accepted = audiences.filter((audience) => tokenAudiences.includes(audience));
    if (accepted.length === 0)
      throw new Error(
        `token audiences ${JSON.stringify(tokenAudiences)} is invalid for the target audiences ${JSON.stringify(audiences)}`,
      );
    return accepted;
  }

  #checkExists(kind: string, object: DeepReadonly<KubeObject> | undefined, uid: string): void {
    if (object === undefined) throw new Error(`the ${kind} of the token does not exist`);
    if (object.metadata.uid !== uid) throw new Error(`the ${kind} of the token was replaced`);
    const deleted = object.metadata.deletionTimestamp;
    if (deleted !== undefined && this.#options.now() > Date.parse(deleted) + leewaySeconds * 1000)
      throw new Error(`the ${kind} of the token is being deleted`);
  }

  async #claims(token: string, connection: object | undefined): Promise<ServiceAccountClaims | undefined> {
    const digest = this.#digests.of(token, connection);
    const verified = this.#verified.get(digest);
    if (verified !== undefined) return verified;
    const header = unverifiedIssuer(token);
    if (header === undefined || !(header.issuer === legacyIssuer || this.#options.issuers.includes(header.issuer)))
      return undefined;
    const candidates = this.#keys.filter(({ id }) => id === header.keyId);
    const { jwtVerify } = await loadJose();
    let failure: unknown = new Error('no key of this server verifies the token');
    for (const { key, algorithm } of candidates.length > 0 ? candidates : this.#keys) {
      try {
        // The caller checks times for every request; the tolerance makes the cached result independent of them.
        const { payload } = await jwtVerify(token, key, {
          algorithms: [algorithm],
          clockTolerance: Number.MAX_SAFE_INTEGER,
        });
        const claims = readClaims(payload);
        this.#verified.set(digest, claims);
        return claims;
      } catch (error) {
        failure = error;
      }
    }
    throw new Error('invalid service account token', { cause: failure });
  }
}

/** The key id of Kubernetes: base64url of the SHA-256 of the public key in PKIX DER. */
function keyId(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}

function algorithmOf(key: KeyObject): string {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  switch (key.asymmetricKeyDetails?.namedCurve) {
    case 'prime256v1':
      return 'ES256';
    case 'secp384r1':
      return 'ES384';
    case 'secp521r1':
      return 'ES512';
    default:
      throw new Error(
        `a key of type ${key.asymmetricKeyType ?? 'unknown'} cannot sign tokens: use RSA or EC (P-256, P-384, P-521)`,
      );
  }
}

function holdsToken(secret: DeepReadonly<KubeObject> | undefined, token: string): boolean {
  const data = secret?.['data'] as Readonly<Record<string, string>> | undefined;
  return (
    data !== undefined &&
    Object.hasOwn(data, 'token') &&
    Buffer.from(data['token'] as string, 'base64').toString() === token
  );
}

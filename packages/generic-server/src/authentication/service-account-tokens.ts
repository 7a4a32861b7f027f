import { createHash, createPublicKey, randomUUID, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { JWTPayload } from 'jose';
import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { asLogicalClusterName } from '@multiplane/apimachinery';
import type { AuthenticationResponse, TokenAuthenticator } from './authenticator.ts';
import { TokenDigests } from './token-digests.ts';

/** Extra with the logical cluster that a ServiceAccount lives in (C7.3). */
export const clusterNameExtra = 'authentication.kcp.io/cluster-name';
/** Extra with the logical clusters a user may act in (`cluster:<name>`, `,` = or, several values = and; C7.4). */
export const scopesExtra = 'authentication.kcp.io/scopes';
const credentialIdExtra = 'authentication.kubernetes.io/credential-id';

/** Loaded by the first token: a start has none to read, and clients may have none at all. */
const library = () => import('jose');

/** What a token is bound to besides its ServiceAccount. */
export interface BoundObject {
  readonly kind: 'Secret';
  readonly name: string;
  readonly uid: string;
}

/** Live reads: a token dies with what it stands for. */
export interface ServiceAccountGetter {
  serviceAccount(cluster: LogicalClusterName, namespace: string, name: string): DeepReadonly<KubeObject> | undefined;
  secret(cluster: LogicalClusterName, namespace: string, name: string): DeepReadonly<KubeObject> | undefined;
}

/** The same where the reads may have to go to another server. */
export interface ServiceAccountLookup {
  serviceAccount(...of: Parameters<ServiceAccountGetter['serviceAccount']>): Found | Promise<Found>;
  secret(...of: Parameters<ServiceAccountGetter['secret']>): Found | Promise<Found>;
}
type Found = DeepReadonly<KubeObject> | undefined;

interface ServiceAccountTokenOptions {
  /** The first signs; tokens of all are accepted. */
  readonly issuers: readonly string[];
  /** Private key that signs; its public half verifies, as do `verificationKeys`. A server without one makes no tokens. */
  readonly signingKey?: KeyObject | undefined;
  readonly verificationKeys?: readonly KeyObject[];
  /** Time in milliseconds. */
  readonly now: () => number;
}

/** Tokens stay valid this long while their object is being deleted, and clocks may differ by as much (K7.2). */
const leewaySeconds = 60;
const maxCached = 4096;

interface VerifiedClaims {
  readonly payload: JWTPayload;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
  readonly secret: { readonly name: string; readonly uid: string } | undefined;
}

/**
 * Issues and checks ServiceAccount tokens (K7.2, C7.3). The signature of a token is verified once and remembered by the
 * token's hash; expiry, audience, the ServiceAccount and the bound object are looked at on every request, so deleting
 * one of them ends the token at once.
 */
export class ServiceAccountTokens implements TokenAuthenticator {
  readonly #options: ServiceAccountTokenOptions;
  readonly #getter: ServiceAccountLookup;
  readonly #keys: readonly { readonly id: string; readonly key: KeyObject; readonly algorithm: string }[];
  readonly #verified = new Map<string, VerifiedClaims>();
  readonly #digests = new TokenDigests();
  constructor(options: ServiceAccountTokenOptions, modules: { readonly getter: ServiceAccountLookup }) {
    this.#options = options;
    this.#getter = modules.getter;
    const { signingKey, verificationKeys = [] } = options;
    const publicKeys = [...(signingKey === undefined ? [] : [createPublicKey(signingKey)]), ...verificationKeys];
    this.#keys = publicKeys.map((key) => ({ id: keyId(key), key, algorithm: algorithmOf(key) }));
  }

  /** Audiences a token has when its request names none. */
  get defaultAudiences(): readonly string[] {
    return this.#options.issuers;
  }

  /** A signed token; times in seconds since the epoch. */
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
    const { SignJWT } = await library();
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

  /** The token of a `kubernetes.io/service-account-token` Secret: no expiry, valid while the Secret holds it (K7.2). */
  async issueLegacy(request: {
    readonly cluster: LogicalClusterName;
    readonly namespace: string;
    readonly secretName: string;
    readonly serviceAccount: { readonly name: string; readonly uid: string };
  }): Promise<string> {
    const signer = this.#keys[0] as { id: string; algorithm: string };
    const prefix = 'kubernetes.io/serviceaccount/';
    const { SignJWT } = await library();
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

  /** Undefined for a token of somebody else's making; throws for one of ours that is not valid (any more). */
  async authenticateToken(
    token: string,
    audiences: readonly string[],
    connection?: object,
  ): Promise<AuthenticationResponse | undefined> {
    const claims = await this.#claims(token, connection);
    if (claims === undefined) return undefined;
    const accepted = this.#checkTimesAndAudience(claims.payload, audiences);
    const account = await this.#getter.serviceAccount(claims.cluster, claims.namespace, claims.serviceAccount.name);
    this.#checkAlive('ServiceAccount', account, claims.serviceAccount.uid);
    if (claims.secret !== undefined) {
      const secret = await this.#getter.secret(claims.cluster, claims.namespace, claims.secret.name);
      this.#checkAlive('Secret', secret, claims.secret.uid === '' ? (secret?.metadata.uid ?? '') : claims.secret.uid);
      if (claims.payload.iss === legacyIssuer && !holdsToken(secret, token))
        throw new Error('the secret no longer holds this token');
    }
    return { user: userOf(claims), audiences: accepted };
  }

  #signingKey(): KeyObject {
    const { signingKey } = this.#options;
    if (signingKey === undefined) throw new TypeError('this server signs no tokens');
    return signingKey;
  }

  #checkTimesAndAudience(payload: JWTPayload, audiences: readonly string[]): readonly string[] {
    const now = this.#options.now() / 1000;
    if (payload.exp !== undefined && now > payload.exp + leewaySeconds)
      throw new Error('service account token has expired');
    if (payload.nbf !== undefined && now < payload.nbf - leewaySeconds)
      throw new Error('service account token is not valid yet');
    if (payload.iss === legacyIssuer) return audiences;
    const own = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? []);
    const accepted = audiences.filter((audience) => own.includes(audience));
    if (accepted.length === 0)
      throw new Error(
        `token audiences ${JSON.stringify(own)} is invalid for the target audiences ${JSON.stringify(audiences)}`,
      );
    return accepted;
  }

  #checkAlive(kind: string, object: DeepReadonly<KubeObject> | undefined, uid: string): void {
    if (object === undefined) throw new Error(`the ${kind} of the token is gone`);
    if (object.metadata.uid !== uid) throw new Error(`the ${kind} of the token was replaced`);
    const deleted = object.metadata.deletionTimestamp;
    if (deleted !== undefined && this.#options.now() > Date.parse(deleted) + leewaySeconds * 1000)
      throw new Error(`the ${kind} of the token is being deleted`);
  }

  async #claims(token: string, connection: object | undefined): Promise<VerifiedClaims | undefined> {
    const digest = this.#digests.of(token, connection);
    const known = this.#verified.get(digest);
    if (known !== undefined) return known;
    const header = unverifiedIssuer(token);
    if (header === undefined || !(header.issuer === legacyIssuer || this.#options.issuers.includes(header.issuer)))
      return undefined;
    const candidates = this.#keys.filter(({ id }) => id === header.keyId);
    const { jwtVerify } = await library();
    let failure: unknown = new Error('no key of this server signed the token');
    for (const { key, algorithm } of candidates.length > 0 ? candidates : this.#keys) {
      try {
        // Times are checked by the caller on every request; far future tolerance here keeps them out of the cache's way.
        const { payload } = await jwtVerify(token, key, {
          algorithms: [algorithm],
          clockTolerance: Number.MAX_SAFE_INTEGER,
        });
        const claims = readClaims(payload);
        if (this.#verified.size >= maxCached) this.#verified.delete(this.#verified.keys().next().value as string);
        this.#verified.set(digest, claims);
        return claims;
      } catch (error) {
        failure = error;
      }
    }
    throw new Error('invalid service account token', { cause: failure });
  }
}

const legacyIssuer = 'kubernetes/serviceaccount';

/** base64url of sha256 of the public key in PKIX DER: the key id Kubernetes uses. */
export function keyId(publicKey: KeyObject): string {
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

/** Issuer and key id without trust in them: only to find out whose token it is. */
function unverifiedIssuer(token: string): { issuer: string; keyId: string | undefined } | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const header = JSON.parse(Buffer.from(parts[0] as string, 'base64url').toString()) as { kid?: unknown };
    const payload = JSON.parse(Buffer.from(parts[1] as string, 'base64url').toString()) as { iss?: unknown };
    if (typeof payload.iss !== 'string') return undefined;
    return { issuer: payload.iss, keyId: typeof header.kid === 'string' ? header.kid : undefined };
  } catch {
    // Not a JWT: some other authenticator's token.
    return undefined;
  }
}

function readClaims(payload: JWTPayload): VerifiedClaims {
  if (payload.iss === legacyIssuer) {
    const claim = (name: string): string => text(payload[`kubernetes.io/serviceaccount/${name}`]);
    return {
      payload,
      cluster: asLogicalClusterName(claim('clusterName')),
      namespace: claim('namespace'),
      serviceAccount: { name: claim('service-account.name'), uid: claim('service-account.uid') },
      secret: { name: claim('secret.name'), uid: '' },
    };
  }
  const own = payload['kubernetes.io'] as Record<string, unknown> | undefined;
  const account = own?.['serviceaccount'] as Record<string, unknown> | undefined;
  const secret = own?.['secret'] as Record<string, unknown> | undefined;
  const namespace = text(own?.['namespace']);
  const name = text(account?.['name']);
  if (payload.sub !== `system:serviceaccount:${namespace}:${name}`)
    throw new Error('the subject of the token does not fit its claims');
  return {
    payload,
    cluster: asLogicalClusterName(text(own?.['clusterName'])),
    namespace,
    serviceAccount: { name, uid: text(account?.['uid']) },
    secret: secret === undefined ? undefined : { name: text(secret['name']), uid: text(secret['uid']) },
  };
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new Error('the token lacks a claim');
  return value;
}

function holdsToken(secret: DeepReadonly<KubeObject> | undefined, token: string): boolean {
  const data = secret?.['data'] as Readonly<Record<string, string>> | undefined;
  return (
    data !== undefined &&
    Object.hasOwn(data, 'token') &&
    Buffer.from(data['token'] as string, 'base64').toString() === token
  );
}

function userOf(claims: VerifiedClaims): UserInfo {
  return {
    name: `system:serviceaccount:${claims.namespace}:${claims.serviceAccount.name}`,
    uid: claims.serviceAccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${claims.namespace}`],
    extra: {
      [clusterNameExtra]: [claims.cluster],
      [scopesExtra]: [`cluster:${claims.cluster}`],
      ...(claims.payload.jti === undefined ? {} : { [credentialIdExtra]: [`JTI=${claims.payload.jti}`] }),
    },
  };
}

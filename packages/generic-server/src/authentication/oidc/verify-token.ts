import type { CompactJWSHeaderParameters } from 'jose';
import { getOwn, isJsonObject, parseJson, type JsonObject } from '@multiplane/apimachinery';
import type { IssuerKey, IssuerKeys } from './issuer-keys.ts';

/** All asymmetric signature algorithms. `none` and shared secrets (HMAC) are never accepted. */
export const allSigningAlgorithms: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
];

const notBeforeLeewayMs = 5 * 60_000;

/** The unverified issuer of a token; undefined if it is not a JSON web token. */
export function claimedIssuer(token: string): string | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const claims = parseJson(Buffer.from(parts[1] as string, 'base64url').toString('utf8'));
    const issuer = isJsonObject(claims) ? getOwn(claims, 'iss') : undefined;
    return typeof issuer === 'string' ? issuer : undefined;
  } catch {
    // Not a JSON web token; another authenticator may accept it.
    return undefined;
  }
}

/** The claims of a token, verified with the keys of the issuer. Throws if no key verifies the signature. */
export async function verifiedClaims(
  token: string,
  keys: IssuerKeys,
  algorithms: readonly string[],
): Promise<JsonObject> {
  const { decodeProtectedHeader } = await import('jose');
  let header: CompactJWSHeaderParameters;
  try {
    header = decodeProtectedHeader(token) as CompactJWSHeaderParameters;
  } catch (cause) {
    throw new Error('oidc: verify token: oidc: malformed jwt', { cause });
  }
  if (!algorithms.includes(header.alg))
    throw new Error(
      `oidc: verify token: oidc: id token signed with unsupported algorithm, expected [${algorithms.join(' ')}] got ${JSON.stringify(header.alg)}`,
    );
  const known = await keys.current();
  const payload = (await verifyWith(known, token, header)) ?? (await verifyWithNewerKeys(keys, known, token, header));
  if (payload === undefined)
    throw new Error('oidc: verify token: failed to verify signature: failed to verify id token signature');
  const claims = parseJson(Buffer.from(payload).toString('utf8'));
  if (!isJsonObject(claims)) throw new Error('oidc: parse claims: not an object');
  return claims;
}

async function verifyWithNewerKeys(
  keys: IssuerKeys,
  known: readonly IssuerKey[],
  token: string,
  header: CompactJWSHeaderParameters,
): Promise<Uint8Array | undefined> {
  const newer = await keys.newer(known);
  return newer === undefined ? undefined : verifyWith(newer, token, header);
}

async function verifyWith(
  keys: readonly IssuerKey[],
  token: string,
  { kid, alg }: CompactJWSHeaderParameters,
): Promise<Uint8Array | undefined> {
  const { compactVerify } = await import('jose');
  for (const { id, algorithm, key } of keys) {
    if (kid !== undefined && kid !== '' && id !== kid) continue;
    if (algorithm !== undefined && algorithm !== alg) continue;
    try {
      return (await compactVerify(token, key, { algorithms: [alg] })).payload;
    } catch {
      // Signed with another key; try the next one.
    }
  }
  return undefined;
}

/** Throws for a token that has expired, has no expiry, or is not valid yet. */
export function checkTimes(claims: JsonObject, nowMs: number): void {
  const expires = secondsIn(claims, 'exp');
  if (expires === undefined || expires * 1000 < nowMs)
    throw new Error(
      `oidc: verify token: oidc: token is expired (Token Expiry: ${expires === undefined ? 'none' : String(new Date(expires * 1000))})`,
    );
  const notBefore = secondsIn(claims, 'nbf');
  if (notBefore !== undefined && nowMs + notBeforeLeewayMs < notBefore * 1000)
    throw new Error('oidc: verify token: oidc: current time before the nbf (not before) time');
}

/** The `aud` claim as a list. */
export function audiencesOf(claims: JsonObject): readonly string[] {
  const audience = getOwn(claims, 'aud');
  const list = Array.isArray(audience) ? audience : [audience];
  return list.filter((item): item is string => typeof item === 'string');
}

function secondsIn(claims: JsonObject, name: string): number | undefined {
  const value = getOwn(claims, name);
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}

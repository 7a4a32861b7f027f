import type { JWTPayload } from 'jose';
import { asLogicalClusterName, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';

/** Extra with the logical cluster of a ServiceAccount. */
export const clusterNameExtra = 'authentication.kcp.io/cluster-name';
/**
 * Extra that limits a user to logical clusters: `cluster:<name>`, alternatives separated by commas; several values must all
 * match.
 */
export const scopesExtra = 'authentication.kcp.io/scopes';
const credentialIdExtra = 'authentication.kubernetes.io/credential-id';

/** Issuer of the tokens in `kubernetes.io/service-account-token` Secrets. */
export const legacyIssuer = 'kubernetes/serviceaccount';

/** The claims of a ServiceAccount token with a verified signature. */
export interface ServiceAccountClaims {
  readonly payload: JWTPayload;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
  readonly secret: { readonly name: string; readonly uid: string } | undefined;
}

/** The unverified issuer and key id of a token, to select the verification key; undefined if it is not a JSON web token. */
export function unverifiedIssuer(token: string): { issuer: string; keyId: string | undefined } | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const header = JSON.parse(Buffer.from(parts[0] as string, 'base64url').toString()) as { kid?: unknown };
    const payload = JSON.parse(Buffer.from(parts[1] as string, 'base64url').toString()) as { iss?: unknown };
    if (typeof payload.iss !== 'string') return undefined;
    return { issuer: payload.iss, keyId: typeof header.kid === 'string' ? header.kid : undefined };
  } catch {
    // Not a JSON web token.
    return undefined;
  }
}

/** Reads the private claims of a verified token. Throws if a claim is missing or contradicts the subject. */
export function readClaims(payload: JWTPayload): ServiceAccountClaims {
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
  const privateClaims = payload['kubernetes.io'] as Record<string, unknown> | undefined;
  const account = privateClaims?.['serviceaccount'] as Record<string, unknown> | undefined;
  const secret = privateClaims?.['secret'] as Record<string, unknown> | undefined;
  const namespace = text(privateClaims?.['namespace']);
  const name = text(account?.['name']);
  if (payload.sub !== `system:serviceaccount:${namespace}:${name}`)
    throw new Error('the subject of the token does not match its claims');
  return {
    payload,
    cluster: asLogicalClusterName(text(privateClaims?.['clusterName'])),
    namespace,
    serviceAccount: { name, uid: text(account?.['uid']) },
    secret: secret === undefined ? undefined : { name: text(secret['name']), uid: text(secret['uid']) },
  };
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new Error('a claim of the token is missing');
  return value;
}

/** The user of a ServiceAccount token. */
export function userOf(claims: ServiceAccountClaims): UserInfo {
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

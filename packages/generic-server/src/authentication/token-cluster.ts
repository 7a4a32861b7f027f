import { isLogicalClusterName, type LogicalClusterName } from '@multiplane/apimachinery';
import type { Headers } from '../server/exchange.ts';

const scheme = /^bearer +(.+)$/i;
/** ServiceAccount tokens are much shorter; longer tokens are not decoded. */
const maxTokenLength = 16 * 1024;
const legacyClaim = 'kubernetes.io/serviceaccount/clusterName';

/**
 * The logical cluster in the claims of a ServiceAccount token. In-cluster clients send no `/clusters/` prefix, so kcp routes
 * their requests by this claim. The token is not verified here: the claim only selects the target, where authentication
 * rejects a forged token.
 */
export function clusterOfToken(headers: Headers): LogicalClusterName | undefined {
  const { authorization } = headers;
  if (typeof authorization !== 'string' || authorization.length > maxTokenLength) return undefined;
  const token = scheme.exec(authorization)?.[1];
  const payload = token?.split('.')[1];
  if (payload === undefined) return undefined;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    // An opaque token has no claims.
    return undefined;
  }
  if (typeof claims !== 'object' || claims === null) return undefined;
  const { 'kubernetes.io': bound, [legacyClaim]: legacy } = claims as Readonly<Record<string, unknown>>;
  const name = legacy ?? (bound as { readonly clusterName?: unknown } | null | undefined)?.clusterName;
  return typeof name === 'string' && isLogicalClusterName(name) ? name : undefined;
}

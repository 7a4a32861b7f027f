import { isLogicalClusterName, type LogicalClusterName } from '@multiplane/apimachinery';
import type { Headers } from '../exchange.ts';

const scheme = /^bearer +(.+)$/i;
/** A ServiceAccount's token is far smaller; nothing of this size is worth decoding. */
const maxTokenLength = 16 * 1024;
const legacyClaim = 'kubernetes.io/serviceaccount/clusterName';

/**
 * The logical cluster that a ServiceAccount's bearer token says it comes from (C1.5, C7.3): clients inside a workspace
 * know no `/clusters/` prefix. Nothing is verified here. It only says where the request is to go; whoever forges the
 * claim is refused there.
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
    // An opaque token: it names no cluster.
    return undefined;
  }
  if (typeof claims !== 'object' || claims === null) return undefined;
  const { 'kubernetes.io': bound, [legacyClaim]: legacy } = claims as Readonly<Record<string, unknown>>;
  const name = legacy ?? (bound as { readonly clusterName?: unknown } | null | undefined)?.clusterName;
  return typeof name === 'string' && isLogicalClusterName(name) ? name : undefined;
}

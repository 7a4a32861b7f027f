import { deepEqual, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import { claimKey, type ClaimedObjects, type PermissionClaim, type ScopedPermissionClaim } from './api-sharing.ts';

type Objects = DeepReadonly<ClaimedObjects>;

/**
 * A claim as its consumer accepts it, limited to what the export asks for: each side can only narrow the other. A consumer
 * whose tools do not know `objects` and `subresources` accepts the claim without them, and what the export offers counts;
 * what an export offers later never exceeds what the consumer accepted.
 */
export function effectiveClaim<T extends DeepReadonly<ScopedPermissionClaim>>(
  accepted: T,
  offered: DeepReadonly<PermissionClaim>,
): T {
  const objects = both(accepted.objects, offered.objects, narrowed);
  const subresources = both(accepted.subresources, offered.subresources, common);
  return {
    ...accepted,
    ...(objects === undefined ? {} : { objects }),
    ...(subresources === undefined ? {} : { subresources }),
  };
}

/** Of the claims that a consumer accepts those that the export makes, each as its {@link effectiveClaim}. */
export function claimsInForce<T extends DeepReadonly<ScopedPermissionClaim>>(
  accepted: Iterable<T>,
  offered: DeepReadonly<readonly PermissionClaim[]> = [],
): T[] {
  const offers = new Map(offered.map((claim) => [claimKey(claim), claim]));
  return Array.from(accepted).flatMap((claim) => {
    const offer = offers.get(claimKey(claim));
    return offer === undefined ? [] : [effectiveClaim(claim, offer)];
  });
}

const both = <T>(a: T | undefined, b: T | undefined, combine: (a: T, b: T) => T): T | undefined =>
  a === undefined ? b : b === undefined ? a : combine(a, b);

/** An empty list selects nothing. */
function narrowed(accepted: Objects, offered: Objects): Objects {
  const names = both(accepted.names, offered.names, common);
  const namespaces = both(accepted.namespaces, offered.namespaces, common);
  const references = both(accepted.references, offered.references, common);
  const fieldSelector = both(accepted.fieldSelector, offered.fieldSelector, (a, b) => (a === b ? a : `${a},${b}`));
  return {
    ...(names === undefined ? {} : { names }),
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(references === undefined ? {} : { references }),
  };
}

const common = <T>(a: readonly T[], b: readonly T[]): readonly T[] =>
  a.filter((one) => b.some((other) => deepEqual(one as Json, other as Json)));

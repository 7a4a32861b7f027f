import { deepEqual, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import { claimKey, type PermissionClaim, type ScopedPermissionClaim, type KcpCondition } from '@multiplane/apis';
import { maxErrors } from './permission-claim-labeler.ts';

const maxInvalid = 10;
const maxMismatches = 5;
const type = 'PermissionClaimsValid';

type Accepted = DeepReadonly<ScopedPermissionClaim>;
type Exported = DeepReadonly<PermissionClaim>;

/**
 * The condition PermissionClaimsValid: compares the accepted claims with those of the export. Other verbs or selectors are
 * allowed and give a warning, which kcp reports instead of unexpected claims if there are both (kcp:
 * pkg/reconciler/apis/permissionclaimlabel/permissionclaimlabel_reconcile.go).
 */
export function claimsCondition({
  accepted,
  exported,
}: {
  readonly accepted: readonly Accepted[];
  readonly exported: readonly Exported[];
}): KcpCondition {
  const known = new Map(exported.map((claim) => [claimKey(claim), claim]));
  const sorted = accepted.toSorted((a, b) => (claimKey(a) < claimKey(b) ? -1 : 1));
  const mismatches = sorted.flatMap((claim) => mismatch(claim, known.get(claimKey(claim))) ?? []);
  if (mismatches.length > 0) {
    const shown = mismatches.slice(0, maxMismatches);
    return {
      type,
      status: 'False',
      severity: 'Warning',
      reason: 'PermissionClaimsMismatch',
      message: `${mismatches.length} permission claim(s) have mismatched verbs or selectors (showing first ${shown.length}): ${shown.join(', ')}`,
    };
  }
  const unexpected = sorted
    .filter((claim) => !known.has(claimKey(claim)))
    .map(
      ({ resource, group = '', identityHash = '' }) =>
        `unexpected/invalid claim for ${resource}.${group} (identity "${identityHash}")`,
    );
  if (unexpected.length === 0) return { type, status: 'True' };
  const shown = unexpected.slice(0, maxInvalid);
  return {
    type,
    status: 'False',
    severity: 'Error',
    reason: 'InvalidPermissionClaims',
    message: `${unexpected.length} unexpected and/or invalid permission claims (showing first ${shown.length}): ${shown.length === 1 ? (shown[0] as string) : `[${shown.join(', ')}]`}`,
  };
}

/** Reason of the condition PermissionClaimsApplied while claims name resources that do not exist. */
export const claimedResourceNotFound = 'ClaimedResourceNotFound';

/**
 * The condition PermissionClaimsApplied. A resource that does not exist is a warning with a reason of its own, since the claims
 * on other resources are in force; kcp reports it as `InternalError` and does not finish the initialization of workspaces.
 */
export function appliedCondition(failures: readonly string[], missing: readonly Accepted[]): KcpCondition {
  const notFound = missing
    .toSorted((a, b) => (claimKey(a) < claimKey(b) ? -1 : 1))
    .map(({ resource, group = '', identityHash = '' }) =>
      identityHash === ''
        ? `resource ${resource}.${group} does not exist in this workspace`
        : `resource ${resource}.${group} does not exist: no APIExport with identity "${identityHash}" offers it`,
    );
  const shown = [...new Set([...failures, ...notFound])].slice(0, maxErrors);
  const applied = 'PermissionClaimsApplied';
  if (shown.length === 0) return { type: applied, status: 'True' };
  const text = shown.length === 1 ? (shown[0] as string) : `[${shown.join(', ')}]`;
  return {
    type: applied,
    status: 'False',
    ...(failures.length > 0
      ? { severity: 'Error', reason: 'InternalError' }
      : { severity: 'Warning', reason: claimedResourceNotFound }),
    message: `Permission claims have not been fully applied: ${text}`,
  };
}

function mismatch(accepted: Accepted, exported: Exported | undefined): string | undefined {
  if (exported === undefined) return undefined;
  const problems = [
    ...(haveSameVerbs(accepted.verbs, exported.verbs)
      ? []
      : [`verbs: accepted [${accepted.verbs.join(' ')}], exported [${exported.verbs.join(' ')}]`]),
    ...(exported.defaultSelector === undefined || isSame(accepted.selector, exported.defaultSelector)
      ? []
      : ['selector differs from defaultSelector']),
  ];
  return problems.length === 0 ? undefined : `${accepted.resource}.${accepted.group ?? ''} (${problems.join('; ')})`;
}

function haveSameVerbs(accepted: readonly string[], exported: readonly string[]): boolean {
  if (accepted.includes('*') || exported.includes('*')) return true;
  const wanted = new Set(exported);
  return new Set(accepted).size === wanted.size && accepted.every((verb) => wanted.has(verb));
}

const isSame = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);

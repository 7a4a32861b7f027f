import {
  deepEqual,
  isConditionTrue,
  type DeepReadonly,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  claimKey,
  claimLabelPrefix,
  claimsInForce,
  isReleased,
  type APIBinding,
  type ExportLabelValues,
  type ScopedPermissionClaim,
} from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import type { ClaimedResourceExistence } from './claimed-resource-existence.ts';
import { appliedCondition, claimsCondition } from './permission-claim-conditions.ts';
import type { ObjectLabeler } from './permission-claim-labeler.ts';

type Claim = DeepReadonly<ScopedPermissionClaim>;
/** By {@link claimKey}. */
type Claims = ReadonlyMap<string, Claim>;

interface PermissionClaimReconcilerModules extends ControllerModules {
  readonly labeler: ObjectLabeler;
  readonly existence: ClaimedResourceExistence;
  readonly exportLabels: ExportLabelValues;
  /** Has the objects of a claim checked once more after a moment. */
  readonly recheck: (cluster: LogicalClusterName, claim: Claim) => void;
}

/** Labels the objects of the changed claims of one binding, then writes the status. */
export class PermissionClaimReconciler {
  readonly #modules: PermissionClaimReconcilerModules;
  readonly #bindings: Lister<APIBinding>;

  constructor(modules: PermissionClaimReconcilerModules) {
    this.#modules = modules;
    this.#bindings = modules.informers.informer<APIBinding>(apiBindings);
  }

  async reconcile(key: string): Promise<number | void> {
    const { labeler, existence, exportLabels, recheck } = this.#modules;
    const reference = referenceOf(key);
    const { cluster } = reference;
    const binding = this.#bindings.get(reference);
    if (binding === undefined) existence.forget(key);
    // Before the export is found its claims are not known.
    if (binding?.status?.apiExportClusterName === undefined) return;
    if (lacksExportLabel(binding, exportLabels)) {
      const { written, errors } = await labeler.label(cluster, apiBindings);
      if (errors[0] !== undefined) throw new Error(errors[0]);
      // The event of the write requeues the binding.
      if (written > 0) return;
    }
    const accepted = isReleased(binding) ? new Map<string, Claim>() : acceptedClaims(binding);
    const expected = offeredClaims(binding, accepted);
    const applied = appliedClaims(binding);
    const missing = existence.missing(key, cluster, expected.values());
    // The status stays as it is, rather than changing twice at a start.
    if (missing === undefined) return;
    const failed = new Set(missing.map((claim) => claimKey(claim)));
    const failures: string[] = [];
    for (const claim of changedClaims(expected, applied)) {
      if (missing.includes(claim)) continue;
      const { isIncomplete, errors } = await labeler.label(cluster, {
        group: claim.group ?? '',
        resource: claim.resource,
      });
      if (isIncomplete) return 0;
      recheck(cluster, claim);
      if (errors.length > 0) failed.add(claimKey(claim));
      failures.push(...errors);
    }
    await this.#writeStatus(binding, cluster, { accepted, expected, applied, missing, failed, failures });
    if (failures[0] !== undefined) throw new Error(failures[0]);
  }

  async #writeStatus(
    binding: DeepReadonly<APIBinding>,
    cluster: LogicalClusterName,
    {
      accepted,
      expected,
      applied,
      missing,
      failed,
      failures,
    }: {
      readonly accepted: Claims;
      readonly expected: Claims;
      readonly applied: Claims;
      readonly missing: readonly Claim[];
      /** Keys of the missing claims, and of the claims whose objects could not all be labeled. */
      readonly failed: ReadonlySet<string>;
      readonly failures: readonly string[];
    },
  ): Promise<void> {
    const { client, clock } = this.#modules;
    const { appliedPermissionClaims: _, ...current } = binding.status ?? {};
    const now = new Date(clock.now());
    let conditions = setKcpCondition(
      current.conditions,
      claimsCondition({ accepted: [...accepted.values()], exported: current.exportPermissionClaims ?? [] }),
      now,
    );
    conditions = setKcpCondition(conditions, appliedCondition(failures, missing), now);
    // A claim whose labels could not all be removed stays applied, so that the next pass retries it.
    const kept = Array.from(applied).filter(([key]) => failed.has(key) && !expected.has(key));
    const claims = [...Array.from(expected).filter(([key]) => !failed.has(key)), ...kept].toSorted(byKey);
    await updateStatus(client, apiBindings, cluster, binding, {
      ...current,
      ...(claims.length === 0 ? {} : { appliedPermissionClaims: claims.map(([, claim]) => claim) }),
      conditions,
    } as unknown as JsonObject);
  }
}

export const acceptedClaims = ({ spec }: DeepReadonly<APIBinding>): Claims =>
  new Map(
    (spec?.permissionClaims ?? [])
      .filter(({ state }) => state === 'Accepted')
      .map(({ state: _state, ...claim }) => [claimKey(claim), withDefaults(claim)]),
  );

/** Of the accepted claims those that the export makes, as far as it makes them. */
const offeredClaims = ({ status }: DeepReadonly<APIBinding>, accepted: Claims): Claims =>
  new Map(claimsInForce(accepted.values(), status?.exportPermissionClaims).map((claim) => [claimKey(claim), claim]));

/** The claims in force whose objects are those that others name. */
export const referringClaims = (binding: DeepReadonly<APIBinding>): Claim[] =>
  isReleased(binding)
    ? []
    : [...offeredClaims(binding, acceptedClaims(binding)).values()].filter(
        ({ objects }) => objects?.references !== undefined,
      );

export const appliedClaims = ({ status }: DeepReadonly<APIBinding>): Claims =>
  new Map((status?.appliedPermissionClaims ?? []).map((claim) => [claimKey(claim), withDefaults(claim)]));

/** Whether a binding has no claims on either side, none applied, and conditions that say so. */
export const hasNoClaims = ({ spec, status }: DeepReadonly<APIBinding>): boolean =>
  status?.apiExportClusterName !== undefined &&
  (spec?.permissionClaims ?? []).length + (status.exportPermissionClaims ?? []).length === 0 &&
  (status.appliedPermissionClaims ?? []).length === 0 &&
  isConditionTrue(status.conditions, 'PermissionClaimsValid') &&
  isConditionTrue(status.conditions, 'PermissionClaimsApplied');

/** Whether a binding has no label of its export, by which the APIExport virtual workspace shows it to the provider. */
export function lacksExportLabel(
  { metadata, spec, status }: DeepReadonly<APIBinding>,
  exportLabels: ExportLabelValues,
): boolean {
  const value = exportLabels.of(status?.apiExportClusterName ?? '', spec?.reference?.export?.name ?? '');
  return metadata.labels?.[`${claimLabelPrefix}${value}`] === undefined;
}

/** Claims that were added, changed or removed, sorted by key. */
function changedClaims(expected: Claims, applied: Claims): Claim[] {
  const added = Array.from(expected).filter(([key, claim]) => !isSame(applied.get(key), claim));
  const removed = Array.from(applied).filter(([key]) => !expected.has(key));
  return [...added, ...removed].toSorted(byKey).map(([, claim]) => claim);
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);
const isSame = (a: Claim | undefined, b: Claim): boolean => a !== undefined && deepEqual(a, b);

/** With the defaults of a stored claim. */
const withDefaults = (claim: Claim): Claim => ({
  ...claim,
  group: claim.group ?? '',
  identityHash: claim.identityHash ?? '',
});

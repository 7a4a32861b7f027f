import {
  deepEqual,
  isConditionTrue,
  isStatusError,
  type DeepReadonly,
  type GroupResource,
  type GroupVersionResource,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  isReleased,
  apiBindings,
  claimKey,
  claimLabelPrefix,
  ExportLabelValues,
  isReviewResource,
  type APIBinding,
  type ScopedPermissionClaim,
  type KcpCondition,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/update-status.ts';
import { setKcpCondition } from '../tenancy/kcp-conditions.ts';
import { claimsCondition } from './permission-claim-conditions.ts';

/** Finds objects whose labels of claims are not what the claims in force make of them. */
export interface ClaimedObjectFinder {
  /** The resource as it is stored; undefined where the logical cluster has none of that name. */
  resourceOf(cluster: LogicalClusterName, resource: GroupResource): GroupVersionResource | undefined;
  wrong(cluster: LogicalClusterName, resource: GroupResource): AsyncIterable<ObjectReference>;
}

export interface PermissionClaimModules extends ControllerModules {
  readonly objects: ClaimedObjectFinder;
}

/** Objects written in one go; then others have their turn, and a shutdown its chance. */
const maxWrites = 500;
const writesAtOnce = 8;
const maxErrorsKept = 10;
/** A write that was admitted before a claim changed has been stored by then. */
const secondLookMs = 2000;

/** What one go over the objects of a resource came to. */
interface Labelled {
  readonly written: number;
  /** There may be more. */
  readonly unfinished: boolean;
  readonly errors: readonly string[];
}

type Claim = DeepReadonly<ScopedPermissionClaim>;
type Claims = ReadonlyMap<string, Claim>;

/**
 * Makes accepted permission claims come true (C5.12): the objects of a consumer carry the labels by which the provider's
 * view selects, as soon as a claim is accepted, and lose them as soon as it is rejected, changed or withdrawn, or when the
 * binding goes.
 *
 * What the labels must be is admission's to say. So an object is written with an empty patch, and only where its labels
 * are not right; a go that was interrupted is taken up again from what is there. `status.appliedPermissionClaims` is
 * changed when all objects of a claim are done: until then it says what there is to do, also after a crash.
 *
 * A write may have been admitted under the old claims and be stored after the objects were listed. So they are looked at
 * once more a moment later.
 *
 * The second controller does the same by resource, for those second looks and for bindings that are gone already.
 */
export function permissionClaimControllers(modules: PermissionClaimModules): Controller[] {
  const { informers, client, clock, objects } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const labels = new ExportLabelValues();
  const byBinding: Controller = new Controller({ name: 'permissionclaimlabel', reconcile }, modules);
  const byResource: Controller = new Controller(
    {
      name: 'resource-permissionclaimlabel',
      reconcile: async (key) => {
        const { cluster, namespace: group, name: resource } = referenceOf(key);
        const { written, unfinished, errors } = await label(cluster, { group, resource });
        if (errors[0] !== undefined) throw new Error(errors[0]);
        if (unfinished) return 0;
        return written > 0 ? secondLookMs : undefined;
      },
    },
    modules,
  );
  const resourceKey = (cluster: LogicalClusterName, { group = '', resource }: Claim): string =>
    keyOf({ cluster, namespace: group, name: resource });

  // Most bindings have no claims, and are made with a status that says so.
  const look = (binding: DeepReadonly<APIBinding>, reference: ObjectReference): void => {
    if (!isSettledWithout(binding) || lacksOwnLabel(binding, labels)) byBinding.queue.add(keyOf(reference));
  };
  bindings.addHandlers({
    added: look,
    updated: (binding, _old, reference) => look(binding, reference),
    deleted: (old, { cluster }) => {
      for (const claim of [...acceptedOf(old).values(), ...appliedOf(old).values()])
        byResource.queue.add(resourceKey(cluster, claim));
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const { cluster } = reference;
    const binding = bindings.get(reference);
    // Of an export that was not found yet nothing is known.
    if (binding?.status?.apiExportClusterName === undefined) return undefined;
    if (lacksOwnLabel(binding, labels)) {
      const { written, errors } = await label(cluster, apiBindings);
      if (errors[0] !== undefined) throw new Error(errors[0]);
      // The event of that write brings the key back.
      if (written > 0) return undefined;
    }

    const accepted = isReleased(binding) ? new Map<string, Claim>() : acceptedOf(binding);
    const exported = new Set((binding.status.exportPermissionClaims ?? []).map(claimKey));
    const expected: Claims = new Map(Array.from(accepted).filter(([claim]) => exported.has(claim)));
    const applied = appliedOf(binding);
    const failed = new Set<string>();
    const problems: string[] = [];
    for (const claim of changedClaims(expected, applied)) {
      const { unfinished, errors } = await label(cluster, { group: claim.group ?? '', resource: claim.resource });
      if (unfinished) return 0;
      byResource.queue.addAfter(resourceKey(cluster, claim), secondLookMs);
      if (errors.length > 0) failed.add(claimKey(claim));
      problems.push(...errors);
    }

    await writeStatus(binding, { accepted, expected, applied, failed, problems });
    if (problems[0] !== undefined) throw new Error(problems[0]);
    return undefined;
  }

  async function writeStatus(
    binding: DeepReadonly<APIBinding>,
    {
      accepted,
      expected,
      applied,
      failed,
      problems,
    }: {
      readonly accepted: Claims;
      readonly expected: Claims;
      readonly applied: Claims;
      readonly failed: ReadonlySet<string>;
      readonly problems: readonly string[];
    },
  ): Promise<void> {
    const { appliedPermissionClaims: _, ...old } = binding.status ?? {};
    const now = new Date(clock.now());
    let conditions = setKcpCondition(
      old.conditions,
      claimsCondition({ accepted: [...accepted.values()], exported: old.exportPermissionClaims ?? [] }),
      now,
    );
    conditions = setKcpCondition(conditions, appliedCondition(problems), now);
    // What could not be taken off is still there, and the next try has to know.
    const kept = Array.from(applied).filter(([key]) => failed.has(key) && !expected.has(key));
    const claims = [...Array.from(expected).filter(([key]) => !failed.has(key)), ...kept].toSorted(byFirst);
    await updateStatus(client, apiBindings, clusterOf(binding), binding, {
      ...old,
      ...(claims.length === 0 ? {} : { appliedPermissionClaims: claims.map(([, claim]) => claim) }),
      conditions,
    } as unknown as JsonObject);
  }

  const clusterOf = (binding: DeepReadonly<APIBinding>): LogicalClusterName =>
    binding.metadata.annotations?.['kcp.io/cluster'] as LogicalClusterName;

  async function label(cluster: LogicalClusterName, resource: GroupResource): Promise<Labelled> {
    const stored = isReviewResource(resource) ? undefined : objects.resourceOf(cluster, resource);
    const errors: string[] = [];
    let written = 0;
    let pending: Promise<void>[] = [];
    if (stored === undefined) return { written, unfinished: false, errors };
    for await (const reference of objects.wrong(cluster, resource)) {
      if (written === maxWrites) {
        await Promise.all(pending);
        return { written, unfinished: true, errors };
      }
      written++;
      pending.push(write(stored, reference, errors));
      if (pending.length < writesAtOnce) continue;
      await Promise.all(pending);
      pending = [];
    }
    await Promise.all(pending);
    return { written, unfinished: false, errors };
  }

  /** Admission puts the labels right; an object that is gone meanwhile needs none. */
  async function write(resource: GroupVersionResource, reference: ObjectReference, errors: string[]): Promise<void> {
    try {
      await client.patch(resource, reference, 'application/merge-patch+json', {});
    } catch (error) {
      if (isStatusError(error, 'NotFound') || errors.length >= maxErrorsKept) return;
      const { cluster, namespace, name } = reference;
      const { group, version, resource: plural } = resource;
      errors.push(
        `error patching "${group}/${version}, Resource=${plural}" ${cluster}|${namespace}/${name}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  return [byBinding, byResource];
}

/** Claims that are new, otherwise than before, or no more; by key, so that equal states do equal things. */
function changedClaims(expected: Claims, applied: Claims): Claim[] {
  const added = Array.from(expected).filter(([key, claim]) => !isSame(applied.get(key), claim));
  const removed = Array.from(applied).filter(([key]) => !expected.has(key));
  return [...added, ...removed].toSorted(byFirst).map(([, claim]) => claim);
}

const byFirst = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);
const isSame = (a: Claim | undefined, b: Claim): boolean => a !== undefined && deepEqual(a, b);

const acceptedOf = ({ spec }: DeepReadonly<APIBinding>): Claims =>
  new Map(
    (spec?.permissionClaims ?? [])
      .filter(({ state }) => state === 'Accepted')
      .map(({ state: _state, ...claim }) => [claimKey(claim), complete(claim)]),
  );

const appliedOf = ({ status }: DeepReadonly<APIBinding>): Claims =>
  new Map((status?.appliedPermissionClaims ?? []).map((claim) => [claimKey(claim), complete(claim)]));

/** Whether there is no claim that could be asked for, and none that was, and all of that is said. */
const isSettledWithout = ({ spec, status }: DeepReadonly<APIBinding>): boolean =>
  status?.apiExportClusterName !== undefined &&
  (spec?.permissionClaims ?? []).length + (status.exportPermissionClaims ?? []).length === 0 &&
  (status.appliedPermissionClaims ?? []).length === 0 &&
  isConditionTrue(status.conditions, 'PermissionClaimsValid') &&
  isConditionTrue(status.conditions, 'PermissionClaimsApplied');

/** As it is stored: with the fields that have a default. */
const complete = (claim: Claim): Claim => ({
  ...claim,
  group: claim.group ?? '',
  identityHash: claim.identityHash ?? '',
});

/** The view of the export's provider shows every binding of it. */
function lacksOwnLabel({ metadata, spec, status }: DeepReadonly<APIBinding>, labels: ExportLabelValues): boolean {
  const key = labels.of(status?.apiExportClusterName ?? '', spec?.reference?.export?.name ?? '');
  return metadata.labels?.[`${claimLabelPrefix}${key}`] === undefined;
}

function appliedCondition(problems: readonly string[]): KcpCondition {
  const shown = [...new Set(problems)].slice(0, maxErrorsKept);
  if (shown.length === 0) return { type: 'PermissionClaimsApplied', status: 'True' };
  return {
    type: 'PermissionClaimsApplied',
    status: 'False',
    severity: 'Error',
    reason: 'InternalError',
    message: `Permission claims have not been fully applied: ${shown.length === 1 ? (shown[0] as string) : `[${shown.join(', ')}]`}`,
  };
}

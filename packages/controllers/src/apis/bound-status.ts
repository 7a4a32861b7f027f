import type { DeepReadonly } from '@multiplane/apimachinery';
import {
  lockName,
  type AcceptablePermissionClaim,
  type APIExport,
  type APIResourceSchema,
  type BoundResource,
  type ExportedResource,
  type ResourceLock,
} from '@multiplane/apis';
import { APIBindingStatusBuilder, type APIBindingStatus } from './api-binding-status.ts';

/** A resource of an APIExport with its schema. */
export interface OfferedResource {
  readonly exported: DeepReadonly<ExportedResource>;
  readonly schema: DeepReadonly<APIResourceSchema>;
}

export interface BoundResourcesInput {
  readonly apiExport: DeepReadonly<APIExport>;
  /** Resources whose names the binding holds, in the order of the export. */
  readonly resources: readonly OfferedResource[];
  /** Versions in which the definition of a schema stores objects; undefined if it is not established or terminating. */
  readonly storedVersions: (schema: DeepReadonly<APIResourceSchema>) => readonly string[] | undefined;
  /** The current status of the binding. */
  readonly current: DeepReadonly<APIBindingStatus> | undefined;
}

export interface BoundStatusInput extends BoundResourcesInput {
  readonly acceptedClaims: DeepReadonly<AcceptablePermissionClaim[]> | undefined;
  /** Locks of other bindings and CRDs on the remaining resources of the export, by the name of the lock. */
  readonly heldByOthers: ReadonlyMap<string, ResourceLock>;
  readonly now: Date;
}

/**
 * Computes the status of an APIBinding whose export and schemas are known. Pure: the reconciler, the check whether a new
 * binding needs a reconcile at all (by {@link boundResources}), and the precomputed status of default bindings share it,
 * so a binding gets the same status on every path. `pending` are the resources that wait for their definitions.
 */
export function computeBoundStatus(input: BoundStatusInput): {
  readonly status: APIBindingStatus;
  readonly pending: readonly OfferedResource[];
} {
  const { apiExport, current, acceptedClaims, heldByOthers, now } = input;
  const { bound, pending } = boundResources(input);
  const builder = new APIBindingStatusBuilder(current, now);
  builder.setExportClaims(apiExport);
  builder.setExportCluster(apiExport);
  builder.markExportValid();
  builder.putResources(bound);
  if (pending.length > 0) {
    builder.markWaitingForEstablished(pending.map(({ exported }) => exported.schema));
  } else if (heldByOthers.size > 0) {
    const message = `Unable to bind APIs because they are bound by other APIBindings or CRDs: ${formatHolders(heldByOthers)}`;
    builder.markIncomplete({ reason: 'NamingConflicts', message });
  } else {
    builder.markBound(acceptedClaims);
  }
  builder.summarize();
  return { status: builder.value, pending };
}

/**
 * The part of {@link computeBoundStatus} that depends on definitions: the entries of `status.boundResources`, and the
 * resources without an established definition. Storage versions only accumulate, because objects stay stored in the
 * version they were written in; virtual resources have none.
 */
export function boundResources({ apiExport, resources, storedVersions, current }: BoundResourcesInput): {
  readonly bound: BoundResource[];
  readonly pending: OfferedResource[];
} {
  const identityHash = apiExport.status?.identityHash ?? '';
  const before = new Map((current?.boundResources ?? []).map((entry) => [lockName(entry), entry]));
  const bound: BoundResource[] = [];
  const pending: OfferedResource[] = [];
  for (const offer of resources) {
    const { exported, schema } = offer;
    const stored = storedVersions(schema);
    if (stored === undefined) {
      pending.push(offer);
      continue;
    }
    const { name = '', uid = '' } = schema.metadata;
    const resource = { group: schema.spec?.group ?? '', resource: schema.spec?.names.plural ?? '' };
    const versions = [...new Set([...stored, ...(before.get(lockName(resource))?.storageVersions ?? [])])].sort();
    bound.push({
      ...resource,
      schema: { name, UID: uid, identityHash },
      ...(exported.storage?.virtual !== undefined || versions.length === 0 ? {} : { storageVersions: versions }),
    });
  }
  return { bound, pending };
}

/** Locks in kcp's message: Go prints a map as `map[<resource>.<group>:{<binding> <whether a CRD holds it>}]`. */
function formatHolders(locks: ReadonlyMap<string, ResourceLock>): string {
  const entries = [...locks].sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([name, { n = '', c = false }]) => `${name}:{${n} ${c}}`).join(' ')}]`;
}

import {
  isConditionTrue,
  clusterAnnotation,
  deepCopy,
  type DeepReadonly,
  type JsonObject,
} from '@multiplane/apimachinery';
import type {
  AcceptablePermissionClaim,
  APIBinding,
  APIExport,
  APIResourceSchema,
  BoundResource,
  ExportedResource,
} from '@multiplane/apis';
import { setKcpCondition, type KcpCondition } from '../tenancy/kcp-conditions.ts';

type Status = NonNullable<APIBinding['status']>;
type Failure = Pick<KcpCondition, 'reason' | 'message'> & { readonly severity?: 'Error' | 'Warning' | 'Info' };

const waiting: Failure = {
  reason: 'WaitingForEstablished',
  severity: 'Info',
  message: 'Waiting for API(s) to be established',
};

/** The status of a binding on its way from what it was to what it will be (C5.11). */
export class BindingStatus {
  readonly value: Status;
  readonly #now: Date;

  constructor(old: DeepReadonly<Status> | undefined, now: Date) {
    this.value = deepCopy((old ?? {}) as unknown as JsonObject);
    this.#now = now;
    if ((this.value.phase ?? '') !== '') return;
    this.value.phase = 'Binding';
    this.#mark('InitialBindingCompleted', waiting);
  }

  get conditions(): readonly KcpCondition[] {
    return this.value.conditions ?? [];
  }

  /** What is known of the export; its claims are told from here to who reads the binding. */
  exportFound(object: DeepReadonly<APIExport>): void {
    const claims = object.spec?.permissionClaims ?? [];
    if (claims.length === 0) delete this.value.exportPermissionClaims;
    else
      this.value.exportPermissionClaims = deepCopy(claims as unknown as JsonObject[]) as unknown as typeof claims & [];
  }

  exportValid(object: DeepReadonly<APIExport>): void {
    this.value.apiExportClusterName = object.metadata.annotations?.[clusterAnnotation] ?? '';
    this.#mark('APIExportValid', undefined);
  }

  exportInvalid(failure: Failure): void {
    this.#mark('APIExportValid', failure);
  }

  /** Binding has not succeeded, or not for all. What was bound once stays completed (C5.11). */
  incomplete(failure: Failure): void {
    this.#mark('BindingUpToDate', failure);
    if (!isConditionTrue(this.conditions, 'InitialBindingCompleted')) this.#mark('InitialBindingCompleted', failure);
  }

  waitFor(schemas: readonly string[]): void {
    this.incomplete({ ...waiting, message: `${waiting.message ?? ''}: ${schemas.toSorted().join(', ')}` });
  }

  /**
   * Nothing is missing any more. Where nobody claims anything it can be said in the same write that nothing of it is
   * missing either; everything else about claims is their own controller's.
   */
  bound(accepted: DeepReadonly<AcceptablePermissionClaim[]> | undefined): void {
    const { exportPermissionClaims = [], appliedPermissionClaims = [] } = this.value;
    if ((accepted ?? []).length + exportPermissionClaims.length + appliedPermissionClaims.length === 0) {
      this.#mark('PermissionClaimsValid', undefined);
      this.#mark('PermissionClaimsApplied', undefined);
    }
    this.#mark('InitialBindingCompleted', undefined);
    this.#mark('BindingUpToDate', undefined);
    this.value.phase = 'Bound';
  }

  /** Adds a resource, or says what it is now. */
  put(resource: BoundResource): void {
    const list = (this.value.boundResources ??= []);
    const at = list.findIndex((entry) => entry.group === resource.group && entry.resource === resource.resource);
    if (at < 0) list.push(resource);
    else list[at] = resource;
  }

  /** Lets go of resources. */
  keep(isBound: (resource: BoundResource) => boolean): void {
    const kept = this.value.boundResources?.filter((resource) => isBound(resource));
    if (kept === undefined || kept.length === 0) delete this.value.boundResources;
    else this.value.boundResources = kept;
  }

  /** Ready is what InitialBindingCompleted is: what fails later does not make a bound API unusable (C5.11). */
  summarize(): void {
    const completed = this.conditions.find(({ type }) => type === 'InitialBindingCompleted');
    if (completed === undefined) return;
    const { lastTransitionTime: _time, type: _type, status, ...why } = completed;
    this.#set(status === 'True' ? { type: 'Ready', status } : { type: 'Ready', status, ...why });
  }

  #mark(type: string, failure: Failure | undefined): void {
    this.#set(
      failure === undefined ? { type, status: 'True' } : { type, status: 'False', severity: 'Error', ...failure },
    );
  }

  #set(condition: Omit<KcpCondition, 'lastTransitionTime'>): void {
    this.value.conditions = setKcpCondition(this.value.conditions, condition, this.#now);
  }
}

/**
 * How a resource of an export is bound. Versions in which objects may be stored only add up, since old objects stay as
 * they are; what is not stored here has none (C5.11).
 */
export function boundResourceOf(
  object: DeepReadonly<APIExport>,
  exported: DeepReadonly<ExportedResource>,
  schema: DeepReadonly<APIResourceSchema>,
  storedVersions: readonly string[],
  before?: DeepReadonly<Status>,
): BoundResource {
  const { group = '', names } = schema.spec ?? { names: { plural: '' } };
  const resource = names.plural;
  const known = before?.boundResources?.find((entry) => entry.group === group && entry.resource === resource);
  const versions = [...new Set([...storedVersions, ...(known?.storageVersions ?? [])])].sort();
  const { name = '', uid = '' } = schema.metadata;
  return {
    group,
    resource,
    schema: { name, UID: uid, identityHash: object.status?.identityHash ?? '' },
    ...(exported.storage?.virtual !== undefined || versions.length === 0 ? {} : { storageVersions: versions }),
  };
}

/** The status of a binding to which nothing is missing any more. */
export function boundStatus(
  object: DeepReadonly<APIExport>,
  resources: readonly BoundResource[],
  now: Date,
  before?: DeepReadonly<Status>,
): Status {
  const status = new BindingStatus(before, now);
  status.exportFound(object);
  status.exportValid(object);
  for (const resource of resources) status.put(resource);
  status.bound([]);
  status.summarize();
  return status.value;
}

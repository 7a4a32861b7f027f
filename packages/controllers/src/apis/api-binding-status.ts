import {
  isConditionTrue,
  clusterAnnotation,
  deepCopy,
  type DeepReadonly,
  type JsonObject,
} from '@multiplane/apimachinery';
import {
  lockName,
  type AcceptablePermissionClaim,
  type APIBinding,
  type APIExport,
  type BoundResource,
} from '@multiplane/apis';
import { setKcpCondition, type KcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';

export type APIBindingStatus = NonNullable<APIBinding['status']>;
type Failure = Pick<KcpCondition, 'reason' | 'message'> & { readonly severity?: 'Error' | 'Warning' | 'Info' };

const waitingForEstablished: Failure = {
  reason: 'WaitingForEstablished',
  severity: 'Info',
  message: 'Waiting for API(s) to be established',
};

/**
 * Builds the next status of an APIBinding from its current one. Reasons and messages are those of kcp
 * (pkg/reconciler/apis/apibinding/apibinding_reconcile.go).
 */
export class APIBindingStatusBuilder {
  #value: APIBindingStatus;
  readonly now: Date;

  constructor(current: DeepReadonly<APIBindingStatus> | undefined, now: Date) {
    this.#value = deepCopy((current ?? {}) as unknown as JsonObject);
    this.now = now;
    if ((this.#value.phase ?? '') !== '') return;
    this.#value.phase = 'Binding';
    this.#mark('InitialBindingCompleted', waitingForEstablished);
  }

  get value(): APIBindingStatus {
    return this.#value;
  }

  /** Replaces the status built so far. */
  assign(value: APIBindingStatus): void {
    this.#value = value;
  }

  /** Copies the permission claims of the export, where consumers read them. */
  setExportClaims(object: DeepReadonly<APIExport>): void {
    const claims = object.spec?.permissionClaims ?? [];
    if (claims.length === 0) delete this.#value.exportPermissionClaims;
    else
      this.#value.exportPermissionClaims = deepCopy(claims as unknown as JsonObject[]) as unknown as typeof claims & [];
  }

  setExportCluster(object: DeepReadonly<APIExport>): void {
    this.#value.apiExportClusterName = object.metadata.annotations?.[clusterAnnotation] ?? '';
  }

  markExportValid(): void {
    this.#mark('APIExportValid', undefined);
  }

  markExportInvalid(failure: Failure): void {
    this.#mark('APIExportValid', failure);
  }

  /** Binding failed for some or all resources. InitialBindingCompleted stays True once it was. */
  markIncomplete(failure: Failure): void {
    this.#mark('BindingUpToDate', failure);
    if (!isConditionTrue(this.#value.conditions, 'InitialBindingCompleted'))
      this.#mark('InitialBindingCompleted', failure);
  }

  markWaitingForEstablished(schemas: readonly string[]): void {
    const message = `${waitingForEstablished.message ?? ''}: ${schemas.toSorted().join(', ')}`;
    this.markIncomplete({ ...waitingForEstablished, message });
  }

  /**
   * All resources are bound. Without claims on either side the conditions about claims are set in the same write;
   * otherwise they belong to the permission claim controller.
   */
  markBound(accepted: DeepReadonly<AcceptablePermissionClaim[]> | undefined): void {
    const { exportPermissionClaims = [], appliedPermissionClaims = [] } = this.#value;
    if ((accepted ?? []).length + exportPermissionClaims.length + appliedPermissionClaims.length === 0) {
      this.#mark('PermissionClaimsValid', undefined);
      this.#mark('PermissionClaimsApplied', undefined);
    }
    this.#mark('InitialBindingCompleted', undefined);
    this.#mark('BindingUpToDate', undefined);
    this.#value.phase = 'Bound';
  }

  /** Adds bound resources, or replaces the entries of the same group and resource. */
  putResources(resources: readonly BoundResource[]): void {
    if (resources.length === 0) return;
    const list = (this.#value.boundResources ??= []);
    const indexes = new Map(list.map((entry, index) => [lockName(entry), index]));
    for (const resource of resources) {
      const index = indexes.get(lockName(resource));
      if (index === undefined) list.push(resource);
      else list[index] = resource;
    }
  }

  /** Removes the bound resources for which `isBound` is false. */
  retainResources(isBound: (resource: BoundResource) => boolean): void {
    const retained = this.#value.boundResources?.filter((resource) => isBound(resource));
    if (retained === undefined || retained.length === 0) delete this.#value.boundResources;
    else this.#value.boundResources = retained;
  }

  /** Ready mirrors InitialBindingCompleted: later failures do not make a bound API unusable. */
  summarize(): void {
    const completed = this.#value.conditions?.find(({ type }) => type === 'InitialBindingCompleted');
    if (completed === undefined) return;
    const { lastTransitionTime: _time, type: _type, status, ...cause } = completed;
    this.#set(status === 'True' ? { type: 'Ready', status } : { type: 'Ready', status, ...cause });
  }

  #mark(type: string, failure: Failure | undefined): void {
    this.#set(
      failure === undefined ? { type, status: 'True' } : { type, status: 'False', severity: 'Error', ...failure },
    );
  }

  #set(condition: NewKcpCondition): void {
    this.#value.conditions = setKcpCondition(this.#value.conditions, condition, this.now);
  }
}

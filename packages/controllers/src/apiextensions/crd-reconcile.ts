import {
  isConditionTrue,
  setCondition,
  type Condition,
  type DeepReadonly,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { definingObject } from '@multiplane/apis';
import type { ObjectFaults } from '@multiplane/component-base';
import type { Lister, ObjectReference } from '@multiplane/client';
import type { BoundNames } from '../apis/bound-names.ts';
import { deleteContent } from '../core/delete-content.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus, withChanges } from '../runtime/object-writes.ts';
import { crds, type CustomResourceDefinition, type TakenNames } from './crd-names.ts';
import { definitionStatus } from './definition-status.ts';

const finalizer = 'customresourcecleanup.apiextensions.k8s.io';
const recheckMs = 5_000;

interface CrdReconcilerModules extends ControllerModules {
  readonly bound: BoundNames;
  readonly takenNames: (crd: DeepReadonly<CustomResourceDefinition>, reference: ObjectReference) => TakenNames;
  readonly faults?: Pick<ObjectFaults, 'of'> | undefined;
}

/** Writes the status of a definition, or deletes its objects if it is being deleted. */
export class CrdReconciler {
  readonly #modules: CrdReconcilerModules;
  readonly #crds: Lister<CustomResourceDefinition>;

  constructor(modules: CrdReconcilerModules) {
    this.#modules = modules;
    this.#crds = modules.informers.informer<CustomResourceDefinition>(crds);
  }

  async reconcile(key: string): Promise<number | void> {
    const { client, clock, takenNames, faults } = this.#modules;
    const reference = referenceOf(key);
    const crd = this.#crds.get(reference);
    if (crd === undefined) return;
    if (crd.metadata.deletionTimestamp !== undefined) return this.#terminate(crd, reference.cluster);
    const found = faults?.of(definingObject(crd)) ?? [];
    const status = definitionStatus(crd, takenNames(crd, reference), new Date(clock.now()), found);
    await updateStatus(client, crds, reference.cluster, crd, status as unknown as JsonObject);
  }

  /** Deletes the objects, then removes the finalizer. */
  async #terminate(crd: DeepReadonly<CustomResourceDefinition>, cluster: LogicalClusterName): Promise<number | void> {
    const { client, bound } = this.#modules;
    if (!(crd.metadata.finalizers ?? []).includes(finalizer)) return;
    const { conditions } = crd.status ?? {};
    if (isConditionTrue(conditions, 'Established') && !isConditionTrue(conditions, 'Terminating')) {
      // The event of this write requeues the definition.
      await this.#setTerminating(crd, cluster, {
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      });
      return;
    }
    const own = { group: crd.spec.group, resource: crd.spec.names.plural };
    // Objects that a binding serves under this name do not belong to the definition, which was never served then.
    const hasObjects = !bound.has(cluster, own);
    const remaining = await deleteContent(
      { cluster, namespace: undefined, only: hasObjects ? [{ ...own, version: '' }] : [] },
      this.#modules,
    );
    if (remaining.failures.length > 0) {
      const message = `could not list or delete instances: ${remaining.failures.join(', ')}`;
      await this.#setTerminating(crd, cluster, { reason: 'InstanceDeletionFailed', message });
      return recheckMs;
    }
    if (remaining.objects.size > 0) return recheckMs;
    const finalizers = (crd.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    // The status endpoint checks no stored versions: a spec that lacks one of them must not keep the definition forever.
    await ignoreReasons(['NotFound'], () =>
      client.update(crds, cluster, withChanges(crd, { metadata: { finalizers } }), { subresource: 'status' }),
    );
  }

  async #setTerminating(
    crd: DeepReadonly<CustomResourceDefinition>,
    cluster: LogicalClusterName,
    cause: Pick<Condition, 'reason' | 'message'>,
  ): Promise<void> {
    const { client, clock } = this.#modules;
    const condition = { type: 'Terminating', status: 'True', ...cause } as const;
    const conditions = setCondition(crd.status?.conditions, condition, new Date(clock.now()));
    await updateStatus(client, crds, cluster, crd, { ...crd.status, conditions } as unknown as JsonObject);
  }
}

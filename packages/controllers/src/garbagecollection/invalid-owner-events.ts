import {
  apiVersionOf,
  type GroupVersionResource,
  type LogicalClusterName,
  type OwnerReference,
} from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import type { ControllerModules } from '../runtime/controller.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';

/** Owners whose deletion was seen: they are not in another namespace. */
const maxDeletedOwners = 10_000;

/** An owner reference whose owner is not in the namespace of the dependent. */
export interface MissingOwner {
  readonly dependent: ObjectMetadataRecord;
  readonly owner: OwnerReference;
  /** The resource of the owner; it is namespaced. */
  readonly resource: GroupVersionResource;
}

/**
 * Reports owner references across namespaces with the event `OwnerRefInvalidNamespace` on the dependent (Kubernetes:
 * `reportInvalidNamespaceOwnerRef` in pkg/controller/garbagecollector). Such a reference does not keep the dependent, which is
 * deleted; the event tells its author why. The look-up of
 * a uid passes over all objects of one resource in the logical cluster, so it is skipped for an owner whose deletion was seen,
 * and made for one reference of a dependent.
 */
export class InvalidOwnerEvents {
  readonly #modules: ControllerModules;
  readonly #recorder: EventRecorder;
  readonly #deleted = new Set<string>();

  constructor(modules: ControllerModules) {
    this.#modules = modules;
    this.#recorder = new EventRecorder({ component: 'garbage-collector-controller', counts: false }, modules);
  }

  /** An object with dependents was deleted. */
  ownerDeleted(cluster: LogicalClusterName, uid: string): void {
    this.#deleted.add(`${cluster}|${uid}`);
    if (this.#deleted.size <= maxDeletedOwners) return;
    const [oldest] = this.#deleted;
    this.#deleted.delete(oldest as string);
  }

  /** Creates the event if the owner is in another namespace, or the dependent in none. Throws what the API throws. */
  async report(missing: MissingOwner): Promise<void> {
    const { dependent, owner } = missing;
    if (dependent.namespace !== '' && !(await this.#isElsewhere(missing))) return;
    const { cluster, namespace, name, uid, kind, resource } = dependent;
    const identity = `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    await this.#recorder.record(
      { cluster, namespace, name, uid, kind, apiVersion: apiVersionOf(resource) },
      {
        type: 'Warning',
        reason: 'OwnerRefInvalidNamespace',
        message: `ownerRef ${identity} does not exist in namespace ${JSON.stringify(namespace)}`,
        identity: owner.uid,
      },
    );
  }

  async #isElsewhere({ dependent, owner, resource }: MissingOwner): Promise<boolean> {
    const { cluster, namespace } = dependent;
    if (this.#deleted.has(`${cluster}|${owner.uid}`)) return false;
    const slices = timeSlices();
    for (const record of this.#modules.informers.metadata.list({ cluster, resource })) {
      if (record.uid === owner.uid) return record.namespace !== namespace;
      if (slices.isExceeded) await slices.yield();
    }
    return false;
  }
}

import { apiVersionOf, type LogicalClusterName, type OwnerReference } from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import type { ControllerModules } from '../runtime/controller.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';

/** Owners whose deletion was seen: they are not in another namespace. */
const maxDeletedOwners = 10_000;
/** References of one logical cluster that wait for a look-up; further ones get no event. */
const maxPendingReferences = 1_000;

/** A reference to an owner that is not in the namespace of the dependent. */
export interface MissingOwner {
  readonly dependent: ObjectMetadataRecord;
  readonly owner: OwnerReference;
}

interface Modules extends ControllerModules {
  /** Have `lookUp` called for a logical cluster. */
  readonly requestLookUp: (cluster: LogicalClusterName) => void;
}

/**
 * Reports owner references across namespaces with the event `OwnerRefInvalidNamespace` on the dependent (Kubernetes:
 * `reportInvalidNamespaceOwnerRef` in pkg/controller/garbagecollector). Such a reference does not keep the dependent, which is
 * deleted; the event tells its author why.
 *
 * As upstream, an owner is known by its uid, whatever the kind and the name of the reference. There is no index of uids: a
 * look-up passes over all objects of the logical cluster, in time slices. One pass serves all references that were added since
 * the last one, so many invalid objects cost as few passes as there is time for. References to owners whose deletion was seen
 * (the usual cause of a missing owner) need none. Events are best effort: an owner that is deleted before the pass is not
 * found, and a logical cluster has a bounded number of waiting references.
 */
export class InvalidOwnerEvents {
  readonly #modules: Modules;
  readonly #recorder: EventRecorder;
  readonly #deleted = new Set<string>();
  readonly #pending = new Map<LogicalClusterName, Set<MissingOwner>>();

  constructor(modules: Modules) {
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

  /** Requests a look-up, after which the event is created if the owner exists in another namespace. */
  ownerMissing(missing: MissingOwner): void {
    const { cluster } = missing.dependent;
    if (this.#deleted.has(`${cluster}|${missing.owner.uid}`)) return;
    let pending = this.#pending.get(cluster);
    if (pending === undefined) this.#pending.set(cluster, (pending = new Set()));
    if (pending.size >= maxPendingReferences) return;
    pending.add(missing);
    this.#modules.requestLookUp(cluster);
  }

  /** Throws what the API throws; references without their event then wait for the next call. */
  async lookUp(cluster: LogicalClusterName): Promise<void> {
    const pending = this.#pending.get(cluster);
    if (pending === undefined) return;
    const missing = [...pending];
    const namespaces = await this.#namespacesOf(cluster, new Set(missing.map(({ owner }) => owner.uid)));
    for (const each of missing) {
      const namespace = namespaces.get(each.owner.uid) ?? '';
      if (namespace !== '' && namespace !== each.dependent.namespace) await this.#record(each);
      pending.delete(each);
    }
    if (pending.size === 0) this.#pending.delete(cluster);
  }

  /** By uid; empty for a cluster-scoped object, absent for one that does not exist. */
  async #namespacesOf(cluster: LogicalClusterName, uids: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
    const namespaces = new Map<string, string>();
    const slices = timeSlices();
    for (const { uid, namespace } of this.#modules.informers.metadata.list({ cluster })) {
      if (uids.has(uid)) namespaces.set(uid, namespace);
      if (namespaces.size === uids.size) break;
      if (slices.isExceeded) await slices.yield();
    }
    return namespaces;
  }

  #record({ dependent, owner }: MissingOwner): Promise<void> {
    const { cluster, namespace, name, uid, kind, resource } = dependent;
    const identity = `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    return this.#recorder.record(
      { cluster, namespace, name, uid, kind, apiVersion: apiVersionOf(resource) },
      {
        type: 'Warning',
        reason: 'OwnerRefInvalidNamespace',
        message: `ownerRef ${identity} does not exist in namespace ${JSON.stringify(namespace)}`,
        identity: owner.uid,
      },
    );
  }
}

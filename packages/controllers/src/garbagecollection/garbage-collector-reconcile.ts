import {
  foregroundFinalizer,
  isStatusError,
  mapConcurrently,
  orphanFinalizer,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type ObjectMeta,
  type OwnerReference,
} from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import type { ControllerModules } from '../runtime/controller.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';
import type { AbsentOwners } from './absent-owners.ts';
import type { DependentsIndex } from './dependents-index.ts';
import type { InvalidOwnerEvents } from './invalid-owner-events.ts';

const recheckMs = 30_000;
/** Concurrent look-ups of the owners of one object. */
const ownerConcurrency = 64;

export interface GarbageCollectorModules extends ControllerModules {
  /** The resource that serves a kind in a logical cluster; undefined if none does. */
  readonly resourceOfKind: (
    cluster: LogicalClusterName,
    apiVersion: string,
    kind: string,
  ) =>
    | {
        readonly resource: GroupVersionResource;
        readonly namespaced: boolean;
        /** Its objects are not stored here: an APIExport serves them by `storage.virtual`. */
        readonly isVirtual?: boolean;
      }
    | undefined;
}

interface ReconcilerModules extends GarbageCollectorModules {
  readonly index: DependentsIndex;
  readonly absentOwners: AbsentOwners;
  readonly invalidOwners: InvalidOwnerEvents;
  readonly enqueueDependent: (record: ObjectMetadataRecord) => void;
}

/** As in Kubernetes; `unknown`: its kind is not served now. */
type OwnerState = 'solid' | 'waitingForDependents' | 'dangling' | 'unknown';

/** Processes dependents and owners from live reads. */
export class GarbageCollectorReconciler {
  readonly #modules: ReconcilerModules;

  constructor(modules: ReconcilerModules) {
    this.#modules = modules;
  }

  async processDependent(record: ObjectMetadataRecord): Promise<number | void> {
    const { index } = this.#modules;
    const object = await this.#get(record);
    if (object === undefined) return;
    const { deletionTimestamp, finalizers = [], ownerReferences: owners = [] } = object.metadata;
    if (deletionTimestamp !== undefined && !finalizers.includes(foregroundFinalizer)) return;
    if (owners.length === 0) return;
    const states = await this.#ownerStates(record, owners);
    this.#reportMissingOwners(record, owners, states);
    if (states.includes('unknown')) return recheckMs;
    if (states.includes('solid')) {
      if (states.every((state) => state === 'solid')) return;
      await this.#patchOwners(
        record,
        object,
        owners.filter((_owner, i) => states[i] === 'solid'),
      );
      return;
    }
    if (deletionTimestamp !== undefined) return;
    if (states.includes('waitingForDependents') && index.dependentsOf(record.cluster, record.uid).length > 0) {
      await this.#unblockCycle(record, object);
      await this.#delete(record, object, 'Foreground');
      return;
    }
    const isOrphaning = finalizers.includes(orphanFinalizer);
    const isForeground = finalizers.includes(foregroundFinalizer);
    await this.#delete(record, object, isOrphaning ? 'Orphan' : isForeground ? 'Foreground' : 'Background');
  }

  async processOwner(record: ObjectMetadataRecord): Promise<void> {
    const { index, enqueueDependent } = this.#modules;
    const object = await this.#get(record);
    const finalizers = object?.metadata.finalizers ?? [];
    const isOrphaning = finalizers.includes(orphanFinalizer);
    if (
      object?.metadata.deletionTimestamp === undefined ||
      !(isOrphaning || finalizers.includes(foregroundFinalizer))
    ) {
      index.forget(record);
      return;
    }
    const dependents = index.dependentsOf(record.cluster, record.uid);
    if (isOrphaning) {
      for (const dependent of dependents) await this.#orphan(dependent, record.uid);
      await this.#removeFinalizer(record, object, orphanFinalizer);
      return;
    }
    const isBlocked = dependents.some(({ metadata }) =>
      (metadata.ownerReferences ?? []).some(
        (owner) => owner.uid === record.uid && owner['blockOwnerDeletion'] === true,
      ),
    );
    for (const dependent of dependents)
      if (dependent.metadata.deletionTimestamp === undefined) enqueueDependent(dependent);
    if (!isBlocked) await this.#removeFinalizer(record, object, foregroundFinalizer);
  }

  /** The live object; undefined if it is gone or was replaced by another one of the same name. */
  async #get(record: ObjectMetadataRecord): Promise<KubeObject | undefined> {
    try {
      const object = await this.#modules.client.get(record.resource, record);
      return object.metadata.uid === record.uid ? object : undefined;
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return undefined;
      throw error;
    }
  }

  /** In the order of the owners. A malicious object may have 15,000 of them. */
  async #ownerStates(dependent: ObjectMetadataRecord, owners: readonly OwnerReference[]): Promise<OwnerState[]> {
    const states: OwnerState[] = [];
    const slices = timeSlices();
    await mapConcurrently(owners.entries(), ownerConcurrency, async ([index, owner]) => {
      if (slices.isExceeded) await slices.yield();
      states[index] = await this.#ownerState(dependent, owner);
    });
    return states;
  }

  async #ownerState(dependent: ObjectMetadataRecord, owner: OwnerReference): Promise<OwnerState> {
    const { absentOwners, client, resourceOfKind } = this.#modules;
    if (absentOwners.has(dependent, owner)) return 'dangling';
    const served = resourceOfKind(dependent.cluster, owner.apiVersion, owner.kind);
    if (served === undefined) return 'unknown';
    // Not finding a virtual object in the store says nothing about it, so the reference keeps the object.
    if (served.isVirtual === true) return 'solid';
    // The namespace of a namespaced owner of a cluster-scoped object is unknown, so the reference keeps the object.
    if (served.namespaced && dependent.namespace === '') return 'solid';
    try {
      const object = await client.get(served.resource, {
        cluster: dependent.cluster,
        namespace: served.namespaced ? dependent.namespace : '',
        name: owner.name,
      });
      if (object.metadata.uid !== owner.uid) return 'dangling';
      return isDeletingInForeground(object.metadata) ? 'waitingForDependents' : 'solid';
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return 'dangling';
      throw error;
    }
  }

  /** A namespaced owner of a cluster-scoped object, and one of an unknown kind, may be in a namespace, too. */
  #reportMissingOwners(
    dependent: ObjectMetadataRecord,
    owners: readonly OwnerReference[],
    states: readonly OwnerState[],
  ): void {
    const { resourceOfKind, invalidOwners } = this.#modules;
    const isNamespaced = ({ apiVersion, kind }: OwnerReference): boolean =>
      resourceOfKind(dependent.cluster, apiVersion, kind)?.namespaced === true;
    for (const [index, owner] of owners.entries()) {
      const isFound = states[index] === 'solid' || states[index] === 'waitingForDependents';
      if (isFound && (dependent.namespace !== '' || !isNamespaced(owner))) continue;
      invalidOwners.ownerMissing({ dependent, owner });
    }
  }

  /**
   * Stops an object from blocking its owner while it waits for dependents of its own: in a cycle of owners neither would
   * ever be deleted.
   */
  async #unblockCycle(record: ObjectMetadataRecord, object: KubeObject): Promise<void> {
    const dependents = this.#modules.index.dependentsOf(record.cluster, record.uid);
    const { ownerReferences: owners = [] } = object.metadata;
    if (!dependents.some(({ metadata }) => isDeletingInForeground(metadata))) return;
    if (!owners.some((owner) => owner['blockOwnerDeletion'] === true)) return;
    await this.#patchOwners(
      record,
      object,
      owners.map((owner) => ({ ...owner, blockOwnerDeletion: false })),
    );
  }

  async #orphan(dependent: ObjectMetadataRecord, ownerUid: string): Promise<void> {
    const object = await this.#get(dependent);
    if (object === undefined) return;
    const owners = (object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid);
    await this.#patchOwners(dependent, object, owners);
  }

  #patchOwners(
    record: ObjectMetadataRecord,
    object: KubeObject,
    ownerReferences: readonly OwnerReference[],
  ): Promise<void> {
    return this.#patchMetadata(record, object, {
      ownerReferences: ownerReferences.length === 0 ? null : [...ownerReferences],
    });
  }

  #removeFinalizer(record: ObjectMetadataRecord, object: KubeObject, name: string): Promise<void> {
    const finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== name);
    return this.#patchMetadata(record, object, { finalizers: finalizers.length === 0 ? null : finalizers });
  }

  /** At the uid and resourceVersion that were read. */
  async #patchMetadata(record: ObjectMetadataRecord, object: KubeObject, metadata: JsonObject): Promise<void> {
    const preconditions = { uid: record.uid, resourceVersion: object.metadata.resourceVersion ?? '' };
    await ignoreReasons(['NotFound'], () =>
      this.#modules.client.patch(record.resource, record, 'application/merge-patch+json', {
        metadata: { ...preconditions, ...metadata },
      }),
    );
  }

  async #delete(
    record: ObjectMetadataRecord,
    object: KubeObject,
    propagationPolicy: 'Foreground' | 'Background' | 'Orphan',
  ): Promise<void> {
    const preconditions = { uid: record.uid, resourceVersion: object.metadata.resourceVersion };
    await ignoreReasons(['NotFound'], () =>
      this.#modules.client.delete(record.resource, record, { propagationPolicy, preconditions }),
    );
  }
}

const isDeletingInForeground = ({ deletionTimestamp, finalizers = [] }: DeepReadonly<ObjectMeta>): boolean =>
  deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer);

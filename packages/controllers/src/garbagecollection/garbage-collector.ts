import {
  isStatusError,
  severalAtOnce,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type OwnerReference,
} from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { slicesOfTurns } from '@multiplane/component-base';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { ignoring } from '../runtime/update-status.ts';
import { DependentsIndex } from './dependents-index.ts';

const foreground = 'foregroundDeletion';
const orphan = 'orphan';
const eventResources = new Set(['events']);

interface GarbageCollectorModules extends ControllerModules {
  /** The resource that serves a kind in a logical cluster now; undefined when nothing does. */
  readonly resourceOfKind: (
    cluster: LogicalClusterName,
    apiVersion: string,
    kind: string,
  ) => { readonly resource: GroupVersionResource; readonly namespaced: boolean } | undefined;
}

type OwnerState = 'solid' | 'waiting' | 'absent' | 'unknown';

/**
 * Removes what its owners left behind (K8.1). One collector for all logical clusters; owner references never cross one.
 *
 * Only objects with owner references are kept in memory, by owner uid. Two kinds of work, keyed by object:
 *
 * - a *dependent* whose owners changed: every owner is looked up live. One that stands keeps the object (dangling
 *   references are removed); only owners waiting for their dependents: delete in the foreground; none: delete.
 * - an *owner* that is being deleted with `foregroundDeletion` or `orphan`: its dependents are deleted first, or lose
 *   their reference, then the finalizer goes.
 *
 * Until all dependents are known nothing is done: an owner without its dependents would go without orphaning them, and
 * they would be taken for left behind. Nothing is deleted on doubt: an owner of a kind that nobody serves may only be unreadable for a moment, so the object
 * stays and is looked at again.
 */
export function garbageCollector(modules: GarbageCollectorModules): Controller {
  const { informers, client, resourceOfKind } = modules;
  const index = new DependentsIndex();
  const controller: Controller = new Controller({ name: 'garbage-collector', workers: 8, reconcile }, modules);
  const enqueue = (key: string): void => controller.queue.add(key);
  let isComplete = false;
  /** Keys that came before that. */
  const early = new Set<string>();

  informers.metadata.addHandlers({
    changed(record, old) {
      if (record.isPlain && (old === undefined || old.isPlain)) return;
      if (eventResources.has(record.resource.resource)) return;
      index.set(record, old);
      const owners = record.metadata.ownerReferences ?? [];
      const deleting = record.metadata.deletionTimestamp !== undefined;
      if (deleting && (record.metadata.finalizers ?? []).some((name) => name === foreground || name === orphan)) {
        index.remember(record);
        enqueue(ownerKey(record));
      }
      if (owners.length > 0 && !sameOwners(record, old)) enqueue(dependentKey(record));
      // A blocking dependent that stopped blocking, or began to go, may free its owner.
      if (owners.length > 0 && old !== undefined) wakeOwners(record);
    },
    deleted(old) {
      if (!index.hasAnyOf(old.cluster)) return;
      if (eventResources.has(old.resource.resource)) return;
      index.delete(old);
      for (const dependent of index.dependentsOf(old.cluster, old.uid)) enqueue(dependentKey(dependent));
      if (!old.isPlain) wakeOwners(old);
    },
    synced() {
      isComplete = true;
      for (const key of early) enqueue(key);
      early.clear();
    },
  });

  function wakeOwners({ cluster, metadata }: ObjectMetadataRecord): void {
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owner = index.waiting(cluster, uid);
      if (owner !== undefined) enqueue(ownerKey(owner));
    }
  }

  async function reconcile(key: string): Promise<number | void> {
    if (!isComplete) {
      early.add(key);
      return;
    }
    const record = index.byKey(key.slice(2));
    if (record === undefined) return;
    return key.startsWith('o:') ? processOwner(record) : processDependent(record);
  }

  /** Live metadata; undefined when the object is gone or was replaced. */
  async function live(record: ObjectMetadataRecord): Promise<KubeObject | undefined> {
    try {
      const object = await client.get(record.resource, record);
      return object.metadata.uid === record.uid ? object : undefined;
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return undefined;
      throw error;
    }
  }

  async function processDependent(record: ObjectMetadataRecord): Promise<number | void> {
    const object = await live(record);
    if (object === undefined) return;
    const { metadata } = object;
    if (metadata.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(foreground)) return;
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const states = await statesOf(record, owners);
    if (states.includes('unknown')) return recheckMs;
    if (states.includes('solid')) {
      if (states.every((state) => state === 'solid')) return;
      const kept = owners.filter((_owner, i) => states[i] === 'solid');
      await patchOwners(record, object, kept);
      return;
    }
    if (metadata.deletionTimestamp !== undefined) return;
    if (states.includes('waiting') && index.dependentsOf(record.cluster, record.uid).length > 0) {
      await unblockCycle(record, object);
      await remove(record, object, 'Foreground');
      return;
    }
    const finalizers = metadata.finalizers ?? [];
    await remove(
      record,
      object,
      finalizers.includes(orphan) ? 'Orphan' : finalizers.includes(foreground) ? 'Foreground' : 'Background',
    );
  }

  /** In the order of the owners, of which a hostile object has 15,000. */
  async function statesOf(dependent: ObjectMetadataRecord, owners: readonly OwnerReference[]): Promise<OwnerState[]> {
    const states: OwnerState[] = [];
    const slices = slicesOfTurns();
    await severalAtOnce(owners.entries(), ownersAtOnce, async ([index, owner]) => {
      if (slices.over) await slices.next();
      states[index] = await ownerState(dependent, owner);
    });
    return states;
  }

  async function ownerState(dependent: ObjectMetadataRecord, owner: OwnerReference): Promise<OwnerState> {
    const served = resourceOfKind(dependent.cluster, owner.apiVersion, owner.kind);
    if (served === undefined) return 'unknown';
    // A cluster-scoped object cannot be owned by something in a namespace: nobody can say which namespace is meant.
    if (served.namespaced && dependent.namespace === '') return 'solid';
    try {
      const object = await client.get(served.resource, {
        cluster: dependent.cluster,
        namespace: served.namespaced ? dependent.namespace : '',
        name: owner.name,
      });
      if (object.metadata.uid !== owner.uid) return 'absent';
      return object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).includes(foreground)
        ? 'waiting'
        : 'solid';
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return 'absent';
      throw error;
    }
  }

  /** A dependent that waits for dependents of its own must not be waited for as well: that would never end. */
  async function unblockCycle(record: ObjectMetadataRecord, object: KubeObject): Promise<void> {
    const waiting = index
      .dependentsOf(record.cluster, record.uid)
      .some(
        ({ metadata }) => metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(foreground),
      );
    if (!waiting || !(object.metadata.ownerReferences ?? []).some((owner) => owner['blockOwnerDeletion'] === true))
      return;
    await patchOwners(
      record,
      object,
      (object.metadata.ownerReferences ?? []).map((owner) => ({ ...owner, blockOwnerDeletion: false })),
    );
  }

  async function processOwner(record: ObjectMetadataRecord): Promise<void> {
    const object = await live(record);
    const finalizers = object?.metadata.finalizers ?? [];
    if (
      object?.metadata.deletionTimestamp === undefined ||
      !finalizers.some((name) => name === foreground || name === orphan)
    ) {
      index.forget(record);
      return;
    }
    const dependents = index.dependentsOf(record.cluster, record.uid);
    if (finalizers.includes(orphan)) {
      for (const dependent of dependents) {
        const current = await live(dependent);
        if (current !== undefined)
          await patchOwners(
            dependent,
            current,
            (current.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== record.uid),
          );
      }
      await dropFinalizer(record, object, orphan);
      return;
    }
    const blocking = dependents.filter(({ metadata }) =>
      (metadata.ownerReferences ?? []).some(
        (owner) => owner.uid === record.uid && owner['blockOwnerDeletion'] === true,
      ),
    );
    for (const dependent of dependents)
      if (dependent.metadata.deletionTimestamp === undefined) enqueue(dependentKey(dependent));
    if (blocking.length === 0) await dropFinalizer(record, object, foreground);
  }

  async function patchOwners(
    record: ObjectMetadataRecord,
    object: KubeObject,
    ownerReferences: readonly OwnerReference[],
  ): Promise<void> {
    const patch: JsonObject = {
      metadata: {
        uid: record.uid,
        resourceVersion: object.metadata.resourceVersion ?? '',
        ownerReferences: ownerReferences.length === 0 ? null : [...ownerReferences],
      },
    };
    await ignoring(['NotFound'], () => client.patch(record.resource, record, 'application/merge-patch+json', patch));
  }

  async function dropFinalizer(record: ObjectMetadataRecord, object: KubeObject, name: string): Promise<void> {
    const finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== name);
    const patch: JsonObject = {
      metadata: {
        uid: record.uid,
        resourceVersion: object.metadata.resourceVersion ?? '',
        finalizers: finalizers.length === 0 ? null : finalizers,
      },
    };
    await ignoring(['NotFound'], () => client.patch(record.resource, record, 'application/merge-patch+json', patch));
  }

  async function remove(
    record: ObjectMetadataRecord,
    object: KubeObject,
    propagationPolicy: 'Foreground' | 'Background' | 'Orphan',
  ): Promise<void> {
    const preconditions = { uid: record.uid, resourceVersion: object.metadata.resourceVersion };
    await ignoring(['NotFound'], () => client.delete(record.resource, record, { propagationPolicy, preconditions }));
  }
  return controller;
}

const recheckMs = 30_000;
/** Owners that are looked up at once. */
const ownersAtOnce = 64;
const dependentKey = (record: ObjectMetadataRecord): string => `d:${DependentsIndex.key(record)}`;
const ownerKey = (record: ObjectMetadataRecord): string => `o:${DependentsIndex.key(record)}`;

function sameOwners(record: ObjectMetadataRecord, old: ObjectMetadataRecord | undefined): boolean {
  if (old === undefined) return false;
  const text = ({ metadata }: DeepReadonly<ObjectMetadataRecord>): string =>
    (metadata.ownerReferences ?? []).map(({ uid }) => uid).join();
  return text(record) === text(old);
}

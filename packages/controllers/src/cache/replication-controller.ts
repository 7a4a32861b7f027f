import { apiVersionOf, type DeepReadonly, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import type { Clock, Logger, Runnable } from '@multiplane/component-base';
import { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { startedAfter } from '../runtime/started-after.ts';
import { logicalClusterObjectName, logicalClusters } from '../tenancy/kinds.ts';
import { CachedObjectConflictError, type CachedObjectStore } from './cached-object-store.ts';
import { toCachedObject } from './cached-object.ts';
import { replicateAnnotationOf } from './replicate-annotation.ts';
import { isReplicated, replicatedKinds, type ReplicatedKind } from './replicated-kinds.ts';

export interface ReplicationOptions {
  readonly shardName: string;
  readonly kinds?: readonly ReplicatedKind[] | undefined;
}

export interface ReplicationModules {
  /** The objects of this shard. */
  readonly informers: InformerSource;
  /** Resolves when {@link informers} show every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly store: CachedObjectStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Delay after a change by another writer: another replica of this shard may be ahead of this one's informers. */
const externalChangeDelayMs = 1_000;
/** Delay after a conflict, until the conflicting write is observed. */
const conflictDelayMs = 50;

/**
 * Publishes the shared objects of a shard to the cache server (kcp: pkg/reconciler/cache/replication). Invariant for the
 * whole cache:
 *
 *   **Once writes cease, the cache holds exactly one cached object, with the content and version of the original, for
 *   every object of every shard for which {@link isReplicated} holds, and nothing else.**
 *
 * One reconcile establishes it for one object:
 *
 * ```
 *   read the cached object, then the original   → equal, or both absent: done, without I/O
 *   wait until the informers are fresh, read the original again
 *   put or delete the cached object, if it has not changed since it was read   → conflict: requeue
 * ```
 *
 * The cached object is read before the original and written by compare-and-set, so an older state never replaces a newer
 * one, however many replicas of the shard publish and however long one of them is paused: the writer of the cached object
 * that was read had not seen a later original. A storage that was restored from a backup is published as it is.
 *
 * Events are not required for correctness: at the start every local object and every cached object of this shard is
 * queued, which repairs what a previous process left undone, and changes of cached objects by other writers are queued
 * too, which repairs a lost stream or a manual deletion.
 */
export function replicationController(options: ReplicationOptions, modules: ReplicationModules): Runnable {
  const { informers, store } = modules;
  const kinds = new Map((options.kinds ?? replicatedKinds).map((kind) => [kindKeyOf(kind), kind]));
  const controller: Controller = new Controller({ name: 'replication', reconcile, workers: 16 }, modules);
  const enqueue = (kind: ReplicatedKind, reference: ObjectReference, delayMs: number): void =>
    controller.queue.addAfter(`${kindKeyOf(kind)}${separator}${keyOf(reference)}`, delayMs);

  const clusters = informers.informer(logicalClusters);
  const isClusterReplicated = (cluster: LogicalClusterName): boolean => {
    const object = clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    return object !== undefined && replicateAnnotationOf(object) !== '';
  };
  handleClusters();
  for (const kind of kinds.values()) handleKind(kind);
  store.onChange((kind, reference, isInInitialList) =>
    enqueue(kind, reference, isInInitialList ? 0 : externalChangeDelayMs),
  );

  /** Queues the RBAC of logical clusters that begin or cease to be replicated. */
  function handleClusters(): void {
    const dependentKinds = [...kinds.values()].filter(
      ({ onlyInReplicatedClusters }) => onlyInReplicatedClusters === true,
    );
    const enqueueContent = ({ cluster }: ObjectReference): void => {
      for (const kind of dependentKinds) {
        for (const { metadata } of informers.informer(kind).list({ cluster })) {
          const { namespace = '', name = '' } = metadata;
          enqueue(kind, { cluster, namespace, name }, 0);
        }
      }
    };
    clusters.addHandlers({
      added: (object, reference) => {
        if (replicateAnnotationOf(object) !== '') enqueueContent(reference);
      },
      updated: (object, old, reference) => {
        if ((replicateAnnotationOf(object) === '') !== (replicateAnnotationOf(old) === '')) enqueueContent(reference);
      },
      deleted: (old, reference) => {
        if (replicateAnnotationOf(old) !== '') enqueueContent(reference);
      },
    });
  }

  /** Queues objects that are, were, or may still be cached; most objects are not replicated and never queued. */
  function handleKind(kind: ReplicatedKind): void {
    const changed = (reference: ObjectReference, ...versions: readonly DeepReadonly<KubeObject>[]): void => {
      const isConcerned =
        versions.some((version) => isReplicated(kind, reference.cluster, version, isClusterReplicated)) ||
        store.get(kind, reference) !== undefined;
      if (isConcerned) enqueue(kind, reference, 0);
    };
    informers.informer(kind).addHandlers({
      added: (object, reference) => changed(reference, object),
      updated: (object, old, reference) => changed(reference, object, old),
      deleted: (old, reference) => changed(reference, old),
    });
  }

  async function reconcile(key: string): Promise<number | void> {
    const end = key.indexOf(separator);
    const kind = kinds.get(key.slice(0, end));
    if (kind === undefined) return;
    const reference = referenceOf(key.slice(end + separator.length));
    const known = store.get(kind, reference);
    const before = wantedFor(kind, reference);
    if (known === undefined ? before === undefined : before !== undefined && store.equals(known, before)) return;
    await modules.fresh();
    const wanted = wantedFor(kind, reference);
    try {
      if (wanted !== undefined) {
        if (known === undefined || !store.equals(known, wanted)) await store.put(kind, reference, wanted, known);
      } else if (known !== undefined) {
        await store.delete(kind, reference, known);
      }
    } catch (error) {
      if (!(error instanceof CachedObjectConflictError)) throw error;
      return conflictDelayMs;
    }
  }

  /** The cached object that should exist; undefined if none should. */
  function wantedFor(kind: ReplicatedKind, reference: ObjectReference): DeepReadonly<KubeObject> | undefined {
    const object = informers.informer(kind).get(reference);
    return object !== undefined && isReplicated(kind, reference.cluster, object, isClusterReplicated)
      ? toCachedObject(options.shardName, object)
      : undefined;
  }

  // Before both sides have synced, every object on the other side would look deleted.
  const synced = Promise.all([store.synced, ...[...kinds.values()].map((kind) => informers.informer(kind).synced)]);
  return startedAfter(controller, synced);
}

const separator = '::';
const kindKeyOf = (kind: ReplicatedKind): string => `${apiVersionOf(kind)}/${kind.resource}`;

import { apiVersionOf, type DeepReadonly, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import type { Clock, Logger, Runnable } from '@multiplane/component-base';
import { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ReplicaConflictError, type ReplicaStore } from './replica-store.ts';
import { replicaOf } from './replica-of.ts';
import { logicalClusterObjectName, logicalClusters } from '../tenancy/kinds.ts';
import { isReplicated, replicatedKinds, type ReplicatedKind } from './replicated-kinds.ts';
import { currentMark } from './replication-marks.ts';

export interface ReplicationOptions {
  readonly shardName: string;
  readonly kinds?: readonly ReplicatedKind[] | undefined;
}

export interface ReplicationModules {
  /** What this shard stores. */
  readonly informers: InformerSource;
  /** Resolves when {@link informers} show every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly store: ReplicaStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Another replica of this shard may be ahead: what somebody else changed is looked at when this one has had time to follow. */
const foreignChangeMs = 1_000;
/** Until the replica that was in the way is known. */
const conflictMs = 50;

/**
 * Publishes what a shard shares (C10.3). The invariant, for the cache as a whole:
 *
 *   **once writes rest, the cache holds exactly one replica of every object that {@link isReplicated} says yes to, on
 *   each shard, with its content and its version; and nothing else.**
 *
 * One reconcile makes it true for one place:
 *
 * ```
 *   known   = the replica as this process knows it
 *   original= the object as this process knows it         → equal, or neither is there: done, at no cost
 *   fresh     wait until the own store's present is seen; look at the original again
 *   write     put or delete, only if `known` still stands → conflict: again, from the beginning
 * ```
 *
 * Looking at the replica first, at the original after that, and writing by compare-and-set gives: a replica is never
 * replaced by an older state, however many publishers race (two replicas of a shard, one of them paused for minutes),
 * since whoever wrote the replica that was looked at had seen no later original. A store that was set back (a restored
 * backup) is published as it is.
 *
 * Nothing depends on having heard of a change: at the start every local object and every replica of this shard is looked
 * at, so that a publisher that died between the local write and the publishing, or while objects vanished, is caught up;
 * and whatever somebody else does to a replica (a stream that was lost, a hand that deleted) is looked at too.
 */
export function replicationController(options: ReplicationOptions, modules: ReplicationModules): Runnable {
  const { informers, store } = modules;
  const kinds = new Map((options.kinds ?? replicatedKinds).map((kind) => [kindKeyOf(kind), kind]));
  const controller: Controller = new Controller({ name: 'replication', reconcile, workers: 16 }, modules);
  const enqueue = (kind: ReplicatedKind, reference: ObjectReference, delayMs: number): void =>
    controller.queue.addAfter(`${kindKeyOf(kind)}::${keyOf(reference)}`, delayMs);

  // What a logical cluster shares decides over the roles in it.
  const clusters = informers.informer(logicalClusters);
  const isShared = (cluster: LogicalClusterName): boolean => {
    const object = clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    return object !== undefined && currentMark(object) !== '';
  };
  const inCluster = [...kinds.values()].filter(({ ofSharedClusters }) => ofSharedClusters === true);
  const reconsider = ({ cluster }: ObjectReference): void => {
    for (const kind of inCluster) {
      for (const { metadata } of informers.informer(kind).list({ cluster })) {
        const { namespace = '', name = '' } = metadata;
        enqueue(kind, { cluster, namespace, name }, 0);
      }
    }
  };
  clusters.addHandlers({
    updated: (object, old, reference) => {
      if ((currentMark(object) === '') !== (currentMark(old) === '')) reconsider(reference);
    },
    // Of one that was not shared nothing was published on its account.
    deleted: (old, reference) => {
      if (currentMark(old) !== '') reconsider(reference);
    },
    added: (object, reference) => {
      if (currentMark(object) !== '') reconsider(reference);
    },
  });
  for (const kind of kinds.values()) {
    // Most objects are shared by nobody: what is not, was not and has no replica is not worth a place in the queue. What
    // stopped being shared is, even if its replica is only on the way.
    const shares = (object: DeepReadonly<KubeObject>, { cluster }: ObjectReference): boolean =>
      isReplicated(kind, cluster, object, isShared);
    const touched = (reference: ObjectReference, ...versions: readonly DeepReadonly<KubeObject>[]): void => {
      if (versions.some((version) => shares(version, reference)) || store.known(kind, reference) !== undefined)
        enqueue(kind, reference, 0);
    };
    informers.informer(kind).addHandlers({
      added: (object, reference) => touched(reference, object),
      updated: (object, old, reference) => touched(reference, object, old),
      deleted: (old, reference) => touched(reference, old),
    });
  }
  store.follow((kind, reference, beginning) => enqueue(kind, reference, beginning ? 0 : foreignChangeMs));

  async function reconcile(key: string): Promise<number | void> {
    const separator = key.indexOf('::');
    const kind = kinds.get(key.slice(0, separator));
    if (kind === undefined) return;
    const reference = referenceOf(key.slice(separator + 2));
    const known = store.known(kind, reference);
    const before = wanted(kind, reference);
    if (known === undefined ? before === undefined : before !== undefined && store.equals(known, before)) return;
    await modules.fresh();
    const now = wanted(kind, reference);
    try {
      if (now !== undefined) {
        if (known === undefined || !store.equals(known, now)) await store.put(kind, reference, now, known);
      } else if (known !== undefined) {
        await store.delete(kind, reference, known);
      }
    } catch (error) {
      if (!(error instanceof ReplicaConflictError)) throw error;
      return conflictMs;
    }
  }

  /** What should stand in the cache. */
  function wanted(kind: ReplicatedKind, reference: ObjectReference): DeepReadonly<KubeObject> | undefined {
    const object = informers.informer(kind).get(reference);
    return object !== undefined && isReplicated(kind, reference.cluster, object, isShared)
      ? replicaOf(options.shardName, object)
      : undefined;
  }

  // What this shard has and what it has published must both be known first: else everything would look gone.
  const known = Promise.all([store.synced, ...[...kinds.values()].map((kind) => informers.informer(kind).synced)]);
  return startedAfter(controller, known);
}

/** Starts a controller when something is known; the start of the process does not wait for that. */
function startedAfter(controller: Controller, known: Promise<unknown>): Runnable {
  let stopped = false;
  const failed = Promise.withResolvers<never>();
  let starting: Promise<void> = Promise.resolve();
  const ended = Promise.race([controller.ended, failed.promise]);
  ended.catch(() => {});
  known.catch(() => {});
  return {
    name: controller.name,
    ended,
    async start() {
      starting = known
        .then(async () => {
          if (!stopped) await controller.start();
        })
        .catch((error: unknown) => failed.reject(error));
    },
    async stop() {
      stopped = true;
      // Not waited for when it is not known yet: it may never be.
      await Promise.race([starting, Promise.resolve()]);
      await controller.stop();
    },
  };
}

const kindKeyOf = (kind: ReplicatedKind): string => `${apiVersionOf(kind)}/${kind.resource}`;

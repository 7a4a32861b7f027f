import {
  apiVersionOf,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LabelSelector,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { cachedResourceSelector, cachedGroupVersionResource, type CachedResource } from '@multiplane/apis';
import type { InformerSource, ObjectClient, ObjectReference } from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';
import { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { toCachedObject } from './cached-object.ts';
import { CachedObjectConflictError, type CachedObjectStore, type OpenedCachedKind } from './cached-object-store.ts';
import type { ReplicatedKind } from './replicated-kinds.ts';

export interface CachedResourceReplicatorModules {
  /** What this shard stores. */
  readonly informers: InformerSource;
  readonly client: Pick<ObjectClient, 'get'>;
  readonly store: CachedObjectStore;
  /** Resolves when {@link informers} show every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The counts of a replication changed, or it has become ready. Gets the key of its CachedResource. */
  readonly onProgress: (key: string) => void;
}

export interface ResourceCounts {
  readonly local: number;
  readonly cache: number;
}

/** The replication of one CachedResource while it runs. */
interface Replication {
  readonly cluster: LogicalClusterName;
  readonly kind: ReplicatedKind;
  readonly selector: LabelSelector;
  /** Equal texts: the same objects are replicated to the same place. */
  readonly fingerprint: string;
  readonly opened: OpenedCachedKind;
  /** Keys of the selected objects of the logical cluster. */
  readonly local: Set<string>;
  readonly stop: () => void;
  isReady: boolean;
}

/** The removal of what a deleted CachedResource published. */
interface Purge {
  readonly opened: OpenedCachedKind;
  isSynced: boolean;
}

/** Delay until another process's write of a cached object is compared, so that this process's informers catch up first. */
const remoteChangeMs = 1_000;
const conflictMs = 50;
/** Separates the key of the CachedResource from that of the object. */
const separator = '::';

/**
 * Publishes the objects that CachedResources select. Invariant, once writes rest: the cache holds under
 * `<resource>:<identity>` exactly one copy of every object of the CachedResource's logical cluster that its selector
 * matches and that is not finally deleted, and no other object of that logical cluster.
 *
 * One reconcile establishes it for one object, as the replication controller does for the fixed kinds: compare, read the
 * original again once the shard's own store is known to be current, write with compare-and-set. At the start of a
 * replication all local objects and all published ones are compared, so that a changed selector removes what it no longer
 * selects.
 */
export class CachedResourceReplicator {
  readonly controller: Controller;
  readonly #options: { readonly shardName: string };
  readonly #modules: CachedResourceReplicatorModules;
  readonly #replications = new Map<string, Replication>();
  readonly #purges = new Map<string, Purge>();

  constructor(options: { readonly shardName: string }, modules: CachedResourceReplicatorModules) {
    this.#options = options;
    this.#modules = modules;
    this.controller = new Controller(
      { name: 'cached-resource-replication', reconcile: (key) => this.#reconcile(key), workers: 16 },
      modules,
    );
  }

  /** Starts the replication of a CachedResource, or starts it over when what it selects or its identity changed. */
  ensure(key: string, object: DeepReadonly<CachedResource>, identity: string): void {
    const fingerprint = JSON.stringify([
      cachedGroupVersionResource(object),
      object.spec?.labelSelector ?? null,
      identity,
    ]);
    if (this.#replications.get(key)?.fingerprint === fingerprint) return;
    this.stop(key);
    const { cluster } = referenceOf(key);
    const kind: ReplicatedKind = { ...cachedGroupVersionResource(object), identity };
    const selector = cachedResourceSelector(object);
    this.#replications.set(key, this.#start(key, { cluster, kind, selector, fingerprint }));
  }

  /** Stops publishing; published objects stay. */
  stop(key: string): void {
    this.#replications.get(key)?.stop();
    this.#replications.delete(key);
  }

  /**
   * Removes the published objects of a CachedResource, as far as they are known, and never waits for a store that cannot
   * be reached. Returns true once none is left; until then it has to be called again.
   */
  async purge(key: string, kind: ReplicatedKind): Promise<boolean> {
    this.stop(key);
    const { cluster } = referenceOf(key);
    const { store } = this.#modules;
    const purge = this.#purges.get(key) ?? this.#openPurge(key, kind);
    if (!purge.isSynced) return false;
    for (const reference of purge.opened.list(cluster)) {
      const known = store.get(kind, reference);
      if (known === undefined) continue;
      try {
        await store.delete(kind, reference, known);
      } catch (error) {
        if (!(error instanceof CachedObjectConflictError)) throw error;
      }
    }
    if (purge.opened.list(cluster).length > 0) return false;
    purge.opened.close();
    this.#purges.delete(key);
    return true;
  }

  #openPurge(key: string, kind: ReplicatedKind): Purge {
    const purge: Purge = { opened: this.#modules.store.open(kind, () => {}), isSynced: false };
    this.#purges.set(key, purge);
    purge.opened.synced.then(
      () => (purge.isSynced = true),
      () => undefined,
    );
    return purge;
  }

  /** Undefined until all local and all published objects are known. */
  counts(key: string): ResourceCounts | undefined {
    const replication = this.#replications.get(key);
    if (replication?.isReady !== true) return undefined;
    return { cache: replication.opened.count(replication.cluster), local: replication.local.size };
  }

  #start(key: string, what: Pick<Replication, 'cluster' | 'kind' | 'selector' | 'fingerprint'>): Replication {
    const { informers, store, onProgress } = this.#modules;
    const { cluster, kind, selector } = what;
    const { queue } = this.controller;
    const local = new Set<string>();
    let isStopped = false;
    const add = (reference: ObjectReference, delayMs = 0): void =>
      queue.addAfter(`${key}${separator}${keyOf(reference)}`, delayMs);
    const opened = store.open(kind, (reference, isInInitialList) => {
      if (reference.cluster !== cluster) return;
      // Initially published objects are compared when the local ones are known.
      if (!isInInitialList) add(reference, remoteChangeMs);
      onProgress(key);
    });
    const changed = (object: DeepReadonly<KubeObject>, reference: ObjectReference): void => {
      if (reference.cluster !== cluster) return;
      const objectKey = keyOf(reference);
      const isSelected = selector.matches(object.metadata.labels ?? {});
      if (isSelected === local.has(objectKey) && !isSelected) return;
      if (isSelected) local.add(objectKey);
      else local.delete(objectKey);
      add(reference);
    };
    const synced = Promise.withResolvers<void>();
    const unsubscribe = informers.informer({ ...kind }).addHandlers({
      added: changed,
      updated: (object, _old, reference) => changed(object, reference),
      deleted: (_old, reference) => {
        if (reference.cluster === cluster && local.delete(keyOf(reference))) add(reference);
      },
      synced: () => synced.resolve(),
    });
    const replication: Replication = {
      ...what,
      opened,
      local,
      isReady: false,
      stop: () => {
        isStopped = true;
        unsubscribe();
        opened.close();
      },
    };
    Promise.all([synced.promise, opened.synced]).then(
      () => {
        if (isStopped) return;
        replication.isReady = true;
        for (const objectKey of local) queue.add(`${key}${separator}${objectKey}`);
        for (const reference of opened.list(cluster)) add(reference);
        onProgress(key);
      },
      // The store was closed: the term of this process is over.
      () => undefined,
    );
    return replication;
  }

  async #reconcile(queued: string): Promise<number | void> {
    const end = queued.indexOf(separator);
    const key = queued.slice(0, end);
    const replication = this.#replications.get(key);
    // Comparing begins when both sides are known; until then every published object would look like a leftover.
    if (replication?.isReady !== true) return;
    const { store, fresh, onProgress } = this.#modules;
    const { kind } = replication;
    const reference = referenceOf(queued.slice(end + separator.length));
    const known = store.get(kind, reference);
    const before = await this.#wanted(replication, reference);
    onProgress(key);
    if (known === undefined ? before === undefined : before !== undefined && store.equals(known, before)) return;
    await fresh();
    const wanted = await this.#wanted(replication, reference);
    if (this.#replications.get(key) !== replication) return;
    try {
      if (wanted !== undefined) {
        if (known === undefined || !store.equals(known, wanted)) await store.put(kind, reference, wanted, known);
      } else if (known !== undefined) {
        await store.delete(kind, reference, known);
      }
    } catch (error) {
      if (!(error instanceof CachedObjectConflictError)) throw error;
      return conflictMs;
    }
    onProgress(key);
  }

  /** The object as it has to be in the cache; undefined: not at all. */
  async #wanted(
    { kind, selector }: Replication,
    reference: ObjectReference,
  ): Promise<DeepReadonly<KubeObject> | undefined> {
    const object = this.#modules.informers.informer({ ...kind }).get(reference);
    if (object === undefined) return undefined;
    const { labels = {}, deletionTimestamp, finalizers = [] } = object.metadata;
    if (!selector.matches(labels) || (deletionTimestamp !== undefined && finalizers.length === 0)) return undefined;
    return toCachedObject(this.#options.shardName, await this.#inVersion(kind, reference, object));
  }

  async #inVersion(
    kind: GroupVersionResource,
    reference: ObjectReference,
    object: DeepReadonly<KubeObject>,
  ): Promise<DeepReadonly<KubeObject>> {
    if (object.apiVersion === apiVersionOf(kind)) return object;
    const { group, version, resource } = kind;
    return this.#modules.client.get({ group, version, resource }, reference);
  }
}

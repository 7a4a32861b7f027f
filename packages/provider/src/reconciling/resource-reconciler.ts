import { isStatusError, type DeepReadonly, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import {
  Controller,
  keyOf,
  referenceOf,
  type ObjectReference,
  type WorkQueueMetrics,
  parseResource,
  resourceText,
} from '@multiplane/client';
import { untilAborted, type Clock, type Logger } from '@multiplane/component-base';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { OwnerIndex } from '../endpoints/owner-index.ts';
import { UnitedObjects } from '../endpoints/united-objects.ts';
import type { ProviderMetrics } from '../serving/provider-metrics.ts';
import { tracedPass } from '../tracing.ts';
import { ReconcileRequest } from './reconcile-request.ts';

/** A number requeues the object after so many milliseconds; an error requeues it with growing delays. */
export type Reconcile<T extends KubeObject> = (request: ReconcileRequest<T>) => Promise<number | void>;

export interface ReconcilerOptions<T extends KubeObject> {
  readonly resource: GroupVersionResource;
  readonly owned: readonly string[];
  readonly concurrency: number;
  readonly reconcile: Reconcile<T>;
  readonly finalizer?: { readonly name: string; readonly release: Reconcile<T> } | undefined;
  readonly gone?: ((reference: ObjectReference) => Promise<void>) | undefined;
  readonly fieldManager: string;
  /** How long passes in progress may take to end after the signal. */
  readonly graceMs: number;
}

export interface ReconcilerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ProviderMetrics;
  readonly queueMetrics: WorkQueueMetrics;
}

/** A transfer to the provider of another scope is asked for by this annotation; it waits until no finalizer is left. */
const transferAnnotation = 'scopes.multiplane.dev/transfer';

/** Reconciles one resource of all endpoints: one queue for all of them, keyed by logical cluster, namespace and name. */
export class ResourceReconciler<T extends KubeObject = KubeObject> {
  readonly #options: ReconcilerOptions<T>;
  readonly #modules: ReconcilerModules;
  readonly #objects = new UnitedObjects<T, Endpoint>();
  readonly #owned = new Map<
    string,
    { readonly objects: UnitedObjects<KubeObject, Endpoint>; readonly index: OwnerIndex }
  >();
  /** Keys whose last source has reported a deletion that no pass has seen yet. */
  readonly #deleted = new Set<string>();

  constructor(options: ReconcilerOptions<T>, modules: ReconcilerModules) {
    this.#options = options;
    this.#modules = modules;
    for (const name of options.owned) {
      const index = new OwnerIndex();
      const objects = new UnitedObjects<KubeObject, Endpoint>();
      objects.addHandlers(index);
      this.#owned.set(name, { objects, index });
    }
    this.#modules.metrics.countObjects(resourceText(options.resource), () => this.#objects.size);
  }

  /** The resources that every endpoint needs an informer for. */
  get resources(): GroupVersionResource[] {
    return [this.#options.resource, ...this.#options.owned.map(parseResource)];
  }

  /**
   * Serves an endpoint from when its objects are known, those that they own first, so that no pass misses some. `isListed`: whether
   * the endpoint is still there then.
   */
  async add(endpoint: Endpoint, isListed: () => boolean): Promise<void> {
    const owned = [...this.#owned].map(([name, { objects }]) => ({ resource: parseResource(name), objects }));
    const { resource } = this.#options;
    await Promise.all([endpoint.informer(resource).synced, ...owned.map((one) => endpoint.settled(one.resource))]);
    if (!isListed()) return;
    for (const one of owned) one.objects.add(endpoint, endpoint.informer(one.resource));
    this.#objects.add(endpoint, endpoint.informer<T>(resource));
  }

  async remove(endpoint: Endpoint): Promise<void> {
    await Promise.all(
      [this.#objects, ...Array.from(this.#owned.values(), ({ objects }) => objects)].map((objects) =>
        objects.remove(endpoint),
      ),
    );
  }

  /** Reconciles until the signal aborts, then waits for the passes in progress, for a limited time. */
  async run(signal: AbortSignal): Promise<void> {
    const { resource, concurrency, graceMs } = this.#options;
    const { clock, logger, queueMetrics } = this.#modules;
    const controller = new Controller(
      { name: resourceText(resource), workers: concurrency, reconcile: (key) => this.#pass(key, signal) },
      { clock, logger, queueMetrics },
    );
    const { queue } = controller;
    const removals = [
      this.#objects.addHandlers({
        changed: (_object, _old, reference, isInitial) => queue.add(keyOf(reference), isInitial),
        deleted: (_old, reference) => {
          if (this.#options.gone === undefined) return;
          this.#deleted.add(keyOf(reference));
          queue.add(keyOf(reference));
        },
      }),
      ...Array.from(this.#owned.values(), ({ objects }) =>
        objects.addHandlers({
          changed: (object, old, reference, isInitial) => {
            // The initial list of owned objects comes with the owners, which are all queued.
            if (isInitial) return;
            for (const owner of this.#ownersOf(object, reference)) queue.add(owner);
            if (old !== undefined) for (const owner of this.#ownersOf(old, reference)) queue.add(owner);
          },
          deleted: (old, reference) => {
            for (const owner of this.#ownersOf(old, reference)) queue.add(owner);
          },
        }),
      ),
    ];
    await controller.start();
    try {
      await untilAborted(controller.ended, signal);
    } finally {
      for (const remove of removals) remove();
      const ended = new AbortController();
      const grace = clock.sleep(graceMs, ended.signal).catch(() => undefined);
      await Promise.race([controller.stop(), grace]);
      ended.abort();
      this.#deleted.clear();
    }
  }

  #ownersOf({ metadata }: DeepReadonly<KubeObject>, { cluster, namespace }: ObjectReference): string[] {
    return (metadata.ownerReferences ?? []).flatMap(({ name, uid }) =>
      [...new Set([namespace, ''])]
        .map((place) => ({ cluster, namespace: place, name }))
        .filter((owner) => this.#objects.get(owner)?.metadata.uid === uid)
        .map(keyOf),
    );
  }

  async #pass(key: string, signal: AbortSignal): Promise<number | void> {
    const resource = resourceText(this.#options.resource);
    return this.#modules.metrics.timed(resource, () =>
      tracedPass({ 'multiplane.resource': resource }, () => this.#reconcile(key, signal)),
    );
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<number | void> {
    const reference = referenceOf(key);
    const located = this.#objects.find(reference);
    if (located === undefined) return this.#reconcileGone(key, reference);
    this.#deleted.delete(key);
    const { resource, fieldManager, finalizer, reconcile } = this.#options;
    const { object, source } = located;
    const request = new ReconcileRequest<T>(
      { resource, reference, object, fieldManager, signal },
      { endpoint: source, clock: this.#modules.clock, ownedBy: (uid, name) => this.#ownedBy(uid, name) },
    );
    if (finalizer === undefined) return reconcile(request);
    const { finalizers = [], deletionTimestamp, annotations = {} } = object.metadata as KubeObject['metadata'];
    if (deletionTimestamp !== undefined || annotations[transferAnnotation] !== undefined) {
      if (!finalizers.includes(finalizer.name)) return undefined;
      const after = await finalizer.release(request);
      // A number says that the release takes longer.
      if (typeof after === 'number') return after;
      await request.removeFinalizer(finalizer.name);
      return undefined;
    }
    // Nothing is made for an object before it is sure to be released: the change reconciles it again.
    if (!finalizers.includes(finalizer.name)) return request.addFinalizer(finalizer.name);
    return reconcile(request);
  }

  async #reconcileGone(key: string, reference: ObjectReference): Promise<void> {
    const { gone, resource } = this.#options;
    if (gone === undefined || !this.#deleted.has(key)) return;
    // The watches of two shards are not in one order: the object may be on another one already, of which its watch is late.
    const others = this.#objects.others(undefined);
    if (others.length > 1)
      for (const { client } of others) {
        const isThere = await client.get(resource, reference).then(
          () => true,
          (error: unknown) => {
            if (isStatusError(error, 'NotFound') || isStatusError(error, 'Forbidden')) return false;
            throw error;
          },
        );
        // Its watch reports it, then it is reconciled.
        if (isThere) return void this.#deleted.delete(key);
      }
    await gone(reference);
    this.#deleted.delete(key);
  }

  #ownedBy(uid: string, name: string): DeepReadonly<KubeObject>[] {
    const owned = this.#owned.get(name);
    if (owned === undefined) throw new Error(`${name} is not followed: name it with owns(${JSON.stringify(name)})`);
    return Array.from(owned.index.of(uid), (reference) => owned.objects.get(reference)).filter(
      (object) => object !== undefined,
    );
  }
}

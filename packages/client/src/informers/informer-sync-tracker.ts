import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '../lister.ts';

/**
 * Informers that track whether their readers have synced, for admission and authorization, which must not decide from a
 * partial state.
 *
 *   informer requested   pending until the informer has synced
 *   handlers added       pending until they were called for the whole initial list, unless they only invalidate
 *   complete()           ends the registration: readers that are added later are not tracked
 *
 * The readers are given these informers instead of the original ones, so that none is left out.
 */
export class InformerSyncTracker implements InformerSource {
  readonly #source: InformerSource;
  readonly #informers = new Map<string, Informer>();
  /** Readers that have not synced, with the name of their resource. */
  readonly #pending = new Map<object, string>();
  readonly #allSynced = Promise.withResolvers<void>();
  /** Resolves once registration is complete and all tracked readers have synced. */
  readonly synced: Promise<void> = this.#allSynced.promise;
  #isComplete = false;

  constructor(modules: { readonly source: InformerSource }) {
    this.#source = modules.source;
  }

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
    const key = `${resource.version}/${name}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      const inner = this.#source.informer(resource);
      informer = new TrackedInformer(inner, () => this.#track(name));
      this.#informers.set(key, informer);
      // The owner of the informer reports its failure; here it only remains pending.
      inner.synced.then(this.#track(name), () => undefined);
    }
    return informer as unknown as Informer<T>;
  }

  /** Ends the registration of readers. */
  complete(): void {
    this.#isComplete = true;
    this.#resolveIfSynced();
  }

  /** Whether {@link synced} has resolved. */
  get hasSynced(): boolean {
    return this.#isComplete && this.#pending.size === 0;
  }

  /** For readiness: throws with the names of the resources that have not synced. */
  check(): void {
    if (!this.hasSynced) throw new Error(`informers not synced: ${[...new Set(this.#pending.values())].join(', ')}`);
  }

  /** Adds a pending reader; the result marks it as synced. */
  #track(name: string): () => void {
    if (this.#isComplete) return () => undefined;
    const reader = {};
    this.#pending.set(reader, name);
    return () => {
      this.#pending.delete(reader);
      this.#resolveIfSynced();
    };
  }

  #resolveIfSynced(): void {
    if (this.hasSynced) this.#allSynced.resolve();
  }
}

class TrackedInformer implements Informer {
  readonly #inner: Informer;
  readonly #track: () => () => void;

  constructor(inner: Informer, track: () => () => void) {
    this.#inner = inner;
    this.#track = track;
  }

  get synced(): Promise<void> {
    return this.#inner.synced;
  }

  get(reference: ObjectReference): DeepReadonly<KubeObject> | undefined {
    return this.#inner.get(reference);
  }

  list(scope?: {
    readonly cluster?: LogicalClusterName | undefined;
    readonly namespace?: string | undefined;
  }): DeepReadonly<KubeObject>[] {
    return this.#inner.list(scope);
  }

  addHandlers(handlers: InformerHandlers): () => void {
    if (handlers.onlyInvalidates === true) return this.#inner.addHandlers(handlers);
    const markSynced = this.#track();
    const stop = this.#inner.addHandlers({
      ...handlers,
      synced: () => {
        handlers.synced?.();
        markSynced();
      },
    });
    return () => {
      stop();
      markSynced();
    };
  }
}

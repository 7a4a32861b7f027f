import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '../lister.ts';

/**
 * Informers of a source that is created later: until {@link bind} they are empty and not synced, and handlers are kept. For
 * wiring in which readers are created before their source.
 */
export class DeferredInformerSource implements InformerSource {
  readonly #informers = new Map<string, DeferredInformer>();
  #source: InformerSource | undefined;

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const key = `${resource.group}/${resource.version}/${resource.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new DeferredInformer(resource);
      this.#informers.set(key, informer);
      if (this.#source !== undefined) informer.bind(this.#source);
    }
    return informer as unknown as Informer<T>;
  }

  /** Sets the source. Throws on a second call. */
  bind(source: InformerSource): void {
    if (this.#source !== undefined) throw new Error('already bound');
    this.#source = source;
    for (const informer of this.#informers.values()) informer.bind(source);
  }
}

interface PendingHandlers {
  readonly handlers: InformerHandlers;
  stop: () => void;
}

class DeferredInformer implements Informer {
  readonly #resource: GroupVersionResource;
  readonly #synced = Promise.withResolvers<void>();
  readonly synced: Promise<void> = this.#synced.promise;
  readonly #pending = new Set<PendingHandlers>();
  #informer: Informer | undefined;

  constructor(resource: GroupVersionResource) {
    this.#resource = resource;
    // Avoids an unhandled rejection when no caller awaits it.
    this.synced.catch(() => {});
  }

  bind(source: InformerSource): void {
    const informer = source.informer(this.#resource);
    this.#informer = informer;
    this.#synced.resolve(informer.synced);
    for (const pending of this.#pending) pending.stop = informer.addHandlers(pending.handlers);
    this.#pending.clear();
  }

  get(reference: ObjectReference): DeepReadonly<KubeObject> | undefined {
    return this.#informer?.get(reference);
  }

  list(scope?: {
    readonly cluster?: LogicalClusterName | undefined;
    readonly namespace?: string | undefined;
  }): DeepReadonly<KubeObject>[] {
    return this.#informer?.list(scope) ?? [];
  }

  addHandlers(handlers: InformerHandlers): () => void {
    if (this.#informer !== undefined) return this.#informer.addHandlers(handlers);
    const pending: PendingHandlers = { handlers, stop: () => void this.#pending.delete(pending) };
    this.#pending.add(pending);
    return () => pending.stop();
  }
}

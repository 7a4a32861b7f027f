import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '../lister.ts';

/**
 * Informers of a source that is known later: until {@link bind} they are empty and not synced, and handlers wait. For
 * wiring in which the readers are made before what they read.
 */
export class LateInformerSource implements InformerSource {
  readonly #informers = new Map<string, LateInformer>();
  #source: InformerSource | undefined;

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const key = `${resource.group}/${resource.version}/${resource.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new LateInformer(resource);
      this.#informers.set(key, informer);
      if (this.#source !== undefined) informer.bind(this.#source);
    }
    return informer as unknown as Informer<T>;
  }

  /** Throws when there is a source already. */
  bind(source: InformerSource): void {
    if (this.#source !== undefined) throw new Error('the informers have a source already');
    this.#source = source;
    for (const informer of this.#informers.values()) informer.bind(source);
  }
}

interface Waiting {
  readonly handlers: InformerHandlers;
  stop: () => void;
}

class LateInformer implements Informer {
  readonly #resource: GroupVersionResource;
  readonly #synced = Promise.withResolvers<void>();
  readonly synced: Promise<void> = this.#synced.promise;
  readonly #waiting = new Set<Waiting>();
  #informer: Informer | undefined;

  constructor(resource: GroupVersionResource) {
    this.#resource = resource;
    // Whoever waits for it hears of the failure; whoever does not must not die of it.
    this.synced.catch(() => {});
  }

  bind(source: InformerSource): void {
    const informer = source.informer(this.#resource);
    this.#informer = informer;
    this.#synced.resolve(informer.synced);
    for (const waiting of this.#waiting) waiting.stop = informer.addHandlers(waiting.handlers);
    this.#waiting.clear();
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
    const waiting: Waiting = { handlers, stop: () => void this.#waiting.delete(waiting) };
    this.#waiting.add(waiting);
    return () => waiting.stop();
  }
}

/** Informers that never have anything: what other shards share, where there are none. */
export const emptyInformerSource: InformerSource = {
  informer: () => ({
    synced: Promise.resolve(),
    get: () => undefined,
    list: () => [],
    addHandlers: (handlers) => {
      queueMicrotask(() => handlers.synced?.());
      return () => {};
    },
  }),
};

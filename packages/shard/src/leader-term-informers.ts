import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type {
  Informer,
  InformerFactory,
  InformerHandlers,
  InformerSource,
  MetadataInformer,
  ObjectReference,
} from '@multiplane/client';

/**
 * Informers for one leader term: handlers that are added through them are removed when the term ends. Everything else is
 * delegated to the informers of the process.
 */
export class LeaderTermInformerSource implements InformerSource {
  readonly #source: InformerSource;
  protected readonly stops: (() => void)[] = [];

  constructor(modules: { readonly source: InformerSource }) {
    this.#source = modules.source;
  }

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    return new LeaderTermInformer<T>(this.#source.informer<T>(resource), this.stops);
  }

  /** Removes all handlers that were added during the term. */
  end(): void {
    for (const stop of this.stops.splice(0)) stop();
  }
}

/** {@link LeaderTermInformerSource} with the metadata informer of a shard. */
export class LeaderTermInformerFactory extends LeaderTermInformerSource implements InformerFactory {
  readonly metadata: MetadataInformer;

  constructor(modules: { readonly source: InformerFactory }) {
    super(modules);
    const { metadata } = modules.source;
    this.metadata = {
      synced: metadata.synced,
      list: (scope) => metadata.list(scope),
      count: (scope) => metadata.count(scope),
      addHandlers: (handlers) => {
        const stop = metadata.addHandlers(handlers);
        this.stops.push(stop);
        return stop;
      },
    };
  }
}

class LeaderTermInformer<T extends KubeObject> implements Informer<T> {
  readonly #informer: Informer<T>;
  readonly #stops: (() => void)[];

  constructor(informer: Informer<T>, stops: (() => void)[]) {
    this.#informer = informer;
    this.#stops = stops;
  }

  get synced(): Promise<void> {
    return this.#informer.synced;
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    return this.#informer.get(reference);
  }

  list(scope?: {
    readonly cluster?: LogicalClusterName | undefined;
    readonly namespace?: string | undefined;
  }): DeepReadonly<T>[] {
    return this.#informer.list(scope);
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const stop = this.#informer.addHandlers(handlers);
    this.#stops.push(stop);
    return stop;
  }
}

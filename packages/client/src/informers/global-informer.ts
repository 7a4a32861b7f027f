import {
  clusterAnnotation,
  shardNameAnnotation,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '../lister.ts';

export interface GlobalInformerOptions {
  /** What this shard replicated itself is read from the shard, never from the cache, which is behind. */
  readonly ownShard: string;
  /**
   * Whether a logical cluster lives here: then nobody else has a say in it. Without it a shard that was taken over could
   * publish roles for the logical clusters of all others.
   */
  readonly ownsCluster?: ((cluster: LogicalClusterName) => boolean) | undefined;
}

interface Sources<S> {
  readonly local: S;
  readonly cached: S;
}

/**
 * The objects of this shard first, those of all other shards after them (C5.0, C10.4). Where both know an object, the
 * local one is the one: every reader sees at most one object at a place, and the owner's own writes at once.
 *
 * Handlers are told of both. When an object is known to both sides for a moment (its logical cluster moves) they may
 * hear of the same state twice; what they hear last is what {@link get} answers.
 */
export class GlobalInformer<T extends KubeObject> implements Informer<T> {
  readonly synced: Promise<void>;
  readonly #options: GlobalInformerOptions;
  readonly #local: Informer<T>;
  readonly #cached: Informer<T>;

  constructor(options: GlobalInformerOptions, modules: Sources<Informer<T>>) {
    this.#options = options;
    this.#local = modules.local;
    this.#cached = modules.cached;
    this.synced = Promise.all([modules.local.synced, modules.cached.synced]).then(() => {});
    // Whoever waits for it hears of the failure; whoever does not must not die of it.
    this.synced.catch(() => {});
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    return this.#local.get(reference) ?? this.#foreign(reference);
  }

  list(
    scope: { readonly cluster?: LogicalClusterName | undefined; readonly namespace?: string | undefined } = {},
  ): DeepReadonly<T>[] {
    const local = this.#local.list(scope);
    if (scope.cluster !== undefined && this.#owns(scope.cluster)) return local;
    const foreign = this.#cached
      .list(scope)
      .filter((object) => this.#isForeign(object) && !this.#owns(clusterOf(object)));
    if (foreign.length === 0) return local;
    if (local.length === 0) return foreign;
    const clusters = new Set(local.map(placeOf));
    return [...local, ...foreign.filter((object) => !clusters.has(placeOf(object)))];
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const { onlyForgets } = handlers;
    let left = 2;
    const synced = (): void => {
      left -= 1;
      if (left === 0) handlers.synced?.();
    };
    const stopLocal = this.#local.addHandlers({
      added: (object, reference, wasThere) => {
        const foreign = this.#foreign(reference);
        if (foreign === undefined) handlers.added?.(object, reference, wasThere);
        else handlers.updated?.(object, foreign, reference);
      },
      updated: (object, old, reference) => handlers.updated?.(object, old, reference),
      deleted: (old, reference) => {
        const foreign = this.#foreign(reference);
        if (foreign === undefined) handlers.deleted?.(old, reference);
        else handlers.updated?.(foreign, old, reference);
      },
      synced,
      onlyForgets,
    });
    const stopCached = this.#cached.addHandlers({
      added: (object, reference, wasThere) => {
        if (this.#shows(object, reference)) handlers.added?.(object, reference, wasThere);
      },
      updated: (object, old, reference) => {
        const shown = this.#shows(old, reference);
        if (this.#shows(object, reference)) {
          if (shown) handlers.updated?.(object, old, reference);
          else handlers.added?.(object, reference);
        } else if (shown) {
          handlers.deleted?.(old, reference);
        }
      },
      deleted: (old, reference) => {
        if (this.#shows(old, reference)) handlers.deleted?.(old, reference);
      },
      synced,
      onlyForgets,
    });
    return () => {
      stopLocal();
      stopCached();
    };
  }

  #foreign(reference: ObjectReference): DeepReadonly<T> | undefined {
    const object = this.#owns(reference.cluster) ? undefined : this.#cached.get(reference);
    return object !== undefined && this.#isForeign(object) ? object : undefined;
  }

  #shows(object: DeepReadonly<T>, reference: ObjectReference): boolean {
    return this.#isForeign(object) && !this.#owns(reference.cluster) && this.#local.get(reference) === undefined;
  }

  #isForeign(object: DeepReadonly<T>): boolean {
    return object.metadata.annotations?.[shardNameAnnotation] !== this.#options.ownShard;
  }

  #owns(cluster: LogicalClusterName): boolean {
    return this.#options.ownsCluster?.(cluster) === true;
  }
}

/** {@link GlobalInformer}s, one per resource. */
export class GlobalInformerSource implements InformerSource {
  readonly #options: GlobalInformerOptions;
  readonly #sources: Sources<InformerSource>;
  readonly #informers = new Map<string, Informer>();

  constructor(options: GlobalInformerOptions, modules: Sources<InformerSource>) {
    this.#options = options;
    this.#sources = modules;
  }

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const key = `${resource.group}/${resource.version}/${resource.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new GlobalInformer(this.#options, {
        local: this.#sources.local.informer(resource),
        cached: this.#sources.cached.informer(resource),
      });
      this.#informers.set(key, informer);
    }
    return informer as unknown as Informer<T>;
  }
}

const clusterOf = ({ metadata }: DeepReadonly<KubeObject>): LogicalClusterName =>
  (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;

const placeOf = ({ metadata }: DeepReadonly<KubeObject>): string =>
  `${metadata.annotations?.[clusterAnnotation] ?? ''}|${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

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
  /** Cached objects of this shard are ignored: the local ones are newer. */
  readonly localShard: string;
  /**
   * Whether a logical cluster is on this shard; cached objects in it are ignored then. Otherwise a compromised shard could
   * publish roles for the logical clusters of all others.
   */
  readonly isLocalCluster?: ((cluster: LogicalClusterName) => boolean) | undefined;
}

interface Sources<S> {
  readonly local: S;
  readonly cached: S;
}

/**
 * The union of a local informer and the informer of the cache server, which has the objects of all shards. A local object
 * takes precedence over a cached one, so that readers see at most one object per reference, and local writes immediately.
 *
 * Handlers get the events of both. While both sides have an object, because its logical cluster moves, they may be notified
 * of the same state twice; the last notification matches {@link get}.
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
    // Avoids an unhandled rejection when no caller awaits it.
    this.synced.catch(() => {});
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    return this.#local.get(reference) ?? this.#remote(reference);
  }

  list(
    scope: { readonly cluster?: LogicalClusterName | undefined; readonly namespace?: string | undefined } = {},
  ): DeepReadonly<T>[] {
    const local = this.#local.list(scope);
    if (scope.cluster !== undefined && this.#isLocal(scope.cluster)) return local;
    const remote = this.#cached
      .list(scope)
      .filter((object) => this.#isRemote(object) && !this.#isLocal(clusterOf(object)));
    if (remote.length === 0) return local;
    if (local.length === 0) return remote;
    const localKeys = new Set(local.map(keyOf));
    return [...local, ...remote.filter((object) => !localKeys.has(keyOf(object)))];
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const { onlyInvalidates } = handlers;
    let unsynced = 2;
    const synced = (): void => {
      unsynced -= 1;
      if (unsynced === 0) handlers.synced?.();
    };
    const stopLocal = this.#local.addHandlers({
      added: (object, reference, isInInitialList) => {
        const remote = this.#remote(reference);
        if (remote === undefined) handlers.added?.(object, reference, isInInitialList);
        else handlers.updated?.(object, remote, reference);
      },
      updated: (object, old, reference) => handlers.updated?.(object, old, reference),
      deleted: (old, reference) => {
        const remote = this.#remote(reference);
        if (remote === undefined) handlers.deleted?.(old, reference);
        else handlers.updated?.(remote, old, reference);
      },
      synced,
      onlyInvalidates,
    });
    const stopCached = this.#cached.addHandlers({
      added: (object, reference, isInInitialList) => {
        if (this.#isVisible(object, reference)) handlers.added?.(object, reference, isInInitialList);
      },
      updated: (object, old, reference) => {
        const wasVisible = this.#isVisible(old, reference);
        if (this.#isVisible(object, reference)) {
          if (wasVisible) handlers.updated?.(object, old, reference);
          else handlers.added?.(object, reference);
        } else if (wasVisible) {
          handlers.deleted?.(old, reference);
        }
      },
      deleted: (old, reference) => {
        if (this.#isVisible(old, reference)) handlers.deleted?.(old, reference);
      },
      synced,
      onlyInvalidates,
    });
    return () => {
      stopLocal();
      stopCached();
    };
  }

  #remote(reference: ObjectReference): DeepReadonly<T> | undefined {
    const object = this.#isLocal(reference.cluster) ? undefined : this.#cached.get(reference);
    return object !== undefined && this.#isRemote(object) ? object : undefined;
  }

  #isVisible(object: DeepReadonly<T>, reference: ObjectReference): boolean {
    return this.#isRemote(object) && !this.#isLocal(reference.cluster) && this.#local.get(reference) === undefined;
  }

  #isRemote(object: DeepReadonly<T>): boolean {
    return object.metadata.annotations?.[shardNameAnnotation] !== this.#options.localShard;
  }

  #isLocal(cluster: LogicalClusterName): boolean {
    return this.#options.isLocalCluster?.(cluster) === true;
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

const keyOf = ({ metadata }: DeepReadonly<KubeObject>): string =>
  `${metadata.annotations?.[clusterAnnotation] ?? ''}|${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

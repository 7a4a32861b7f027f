import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';

/** Where an object lives; `namespace` is empty for cluster-scoped kinds. */
export interface ObjectReference {
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
}

/** Local reads of one resource over all logical clusters. What comes back is frozen and shared: never change it. */
export interface Lister<T extends KubeObject = KubeObject> {
  get(reference: ObjectReference): DeepReadonly<T> | undefined;
  /** Objects of one logical cluster (or all of them), optionally of one namespace, in key order. */
  list(scope?: {
    readonly cluster?: LogicalClusterName | undefined;
    readonly namespace?: string | undefined;
  }): DeepReadonly<T>[];
}

export interface InformerHandlers<T extends KubeObject = KubeObject> {
  /** `wasThere`: before this process looked, so nothing is known to have happened to it. */
  added?(object: DeepReadonly<T>, reference: ObjectReference, wasThere?: boolean): void;
  updated?(object: DeepReadonly<T>, old: DeepReadonly<T>, reference: ObjectReference): void;
  deleted?(old: DeepReadonly<T>, reference: ObjectReference): void;
  /** Once, when `added` was called for everything that was there at the beginning. */
  synced?(): void;
  /** They drop what was made of older objects, or wake who waits for a change: they know nothing that anybody could miss. */
  readonly onlyForgets?: boolean | undefined;
}

/** A lister that also tells what changes. A new handler first gets `added` for everything that is there. */
export interface Informer<T extends KubeObject = KubeObject> extends Lister<T> {
  readonly synced: Promise<void>;
  /** Call the result to stop. Handlers must not throw; they run on the dispatch path and should only enqueue. */
  addHandlers(handlers: InformerHandlers<T>): () => void;
}

/** What every object has in common, for controllers that work on all kinds at once (garbage collection, quota, namespaces). */
export interface ObjectMetadataRecord extends ObjectReference {
  readonly resource: GroupVersionResource;
  readonly kind: string;
  readonly uid: string;
  readonly revision: number;
  readonly metadata: DeepReadonly<KubeObject['metadata']>;
  /** True: surely without owner references, and no deletion of it waits for dependents. Costs no parsing, as most are so. */
  readonly isPlain: boolean;
}

/** Metadata of all objects of all kinds and logical clusters, from the watch cache. */
export interface MetadataInformer {
  readonly synced: Promise<void>;
  addHandlers(handlers: {
    /** `old` is undefined when the object is new. */
    changed(record: ObjectMetadataRecord, old: ObjectMetadataRecord | undefined): void;
    deleted(old: ObjectMetadataRecord): void;
    /** Everything that was there at the beginning was told. */
    synced?(): void;
  }): () => void;
  /** Objects of one logical cluster, optionally of one namespace and one resource. */
  list(scope: {
    readonly cluster: LogicalClusterName;
    readonly namespace?: string | undefined;
    readonly resource?: GroupVersionResource | undefined;
  }): IterableIterator<ObjectMetadataRecord>;
}

/** Hands out one shared informer per resource. */
export interface InformerSource {
  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T>;
}

/** The informers of a shard, which sees all of its objects. */
export interface InformerFactory extends InformerSource {
  readonly metadata: MetadataInformer;
}

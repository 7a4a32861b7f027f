import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';

/** Identifies an object of a resource; `namespace` is empty for cluster-scoped kinds. */
export interface ObjectReference {
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
}

/** Reads one resource of all logical clusters from memory. Objects are frozen and shared. */
export interface Lister<T extends KubeObject = KubeObject> {
  get(reference: ObjectReference): DeepReadonly<T> | undefined;
  /** Objects of one logical cluster (or all of them), optionally of one namespace, in key order. */
  list(scope?: {
    readonly cluster?: LogicalClusterName | undefined;
    readonly namespace?: string | undefined;
  }): DeepReadonly<T>[];
}

export interface InformerHandlers<T extends KubeObject = KubeObject> {
  /** `isInInitialList`: the object existed before the handler was added, as in client-go's `OnAdd`. */
  added?(object: DeepReadonly<T>, reference: ObjectReference, isInInitialList?: boolean): void;
  updated?(object: DeepReadonly<T>, old: DeepReadonly<T>, reference: ObjectReference): void;
  deleted?(old: DeepReadonly<T>, reference: ObjectReference): void;
  /** Called once, after `added` for all objects of the initial list. */
  synced?(): void;
  /** The handlers only invalidate derived state or wake waiters, so that readiness need not wait for them to sync. */
  readonly onlyInvalidates?: boolean | undefined;
}

/** A lister with event handlers. A new handler first gets `added` for every existing object. */
export interface Informer<T extends KubeObject = KubeObject> extends Lister<T> {
  readonly synced: Promise<void>;
  /** The result removes the handlers. Handlers must not throw; they run on the dispatch path and should only enqueue. */
  addHandlers(handlers: InformerHandlers<T>): () => void;
}

/** Metadata of an object of any kind, for controllers that watch all of them (garbage collection, quota, namespaces). */
export interface ObjectMetadataRecord extends ObjectReference {
  readonly resource: GroupVersionResource;
  readonly kind: string;
  readonly uid: string;
  readonly revision: number;
  readonly metadata: DeepReadonly<KubeObject['metadata']>;
  /** True: has no owner references, and its deletion does not wait for dependents. Known without parsing for most objects. */
  readonly isIndependent: boolean;
}

/** Metadata of all objects of all kinds and logical clusters, from the watch cache. */
export interface MetadataInformer {
  readonly synced: Promise<void>;
  addHandlers(handlers: {
    /** `old` is undefined when the object is new. */
    changed(record: ObjectMetadataRecord, old: ObjectMetadataRecord | undefined): void;
    deleted(old: ObjectMetadataRecord): void;
    /** Called once, after `changed` for all objects of the initial list. */
    synced?(): void;
  }): () => void;
  /** Objects of one logical cluster, optionally of one namespace and one resource. */
  list(scope: {
    readonly cluster: LogicalClusterName;
    readonly namespace?: string | undefined;
    readonly resource?: GroupVersionResource | undefined;
  }): IterableIterator<ObjectMetadataRecord>;
  /** The number of objects of a resource, in all namespaces or in one. */
  count(scope: {
    readonly cluster: LogicalClusterName;
    readonly namespace?: string | undefined;
    readonly resource: Pick<GroupVersionResource, 'group' | 'resource'>;
  }): number;
}

/** Returns one shared informer per resource. */
export interface InformerSource {
  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T>;
}

/** The informers of a shard over all of its logical clusters. */
export interface InformerFactory extends InformerSource {
  readonly metadata: MetadataInformer;
}

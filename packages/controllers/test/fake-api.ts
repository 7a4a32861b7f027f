import {
  asJson,
  clusterAnnotation,
  deepCopy,
  deepFreeze,
  isJsonObject,
  statusErrors,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { finalizersOfDeletion } from '@multiplane/apis';
import type {
  Informer,
  InformerFactory,
  InformerHandlers,
  MetadataInformer,
  ObjectClient,
  ObjectMetadataRecord,
  ObjectReference,
} from '@multiplane/client';

interface Stored {
  readonly resource: GroupVersionResource;
  readonly reference: ObjectReference;
  readonly object: KubeObject;
}
type Write = (verb: string, resource: GroupVersionResource, reference: ObjectReference) => void;

const place = ({ group, resource }: GroupVersionResource, { cluster, namespace, name }: ObjectReference): string =>
  `${resource}.${group}|${cluster}|${namespace}/${name}`;

/** Only the status endpoint of definitions changes metadata. */
const keepsMetadata = ({ resource }: GroupVersionResource): boolean => resource !== 'customresourcedefinitions';

/**
 * An in-memory API for controllers: objects with resourceVersions, the status subresource, finalizers, and informers that
 * deliver events in the order of the writes. Without admission and validation; one version per resource.
 */
export class FakeApi {
  /** Called before each write; an error fails the write. */
  onWrite: Write = () => undefined;
  /** Writes so far, as `<verb> <resource>[/status] <cluster>|<name>`. */
  readonly writes: string[] = [];
  readonly #objects = new Map<string, Stored>();
  readonly #handlers = new Map<string, Set<InformerHandlers>>();
  readonly #metadata = new Set<Parameters<MetadataInformer['addHandlers']>[0]>();
  #revision = 0;

  readonly informers: InformerFactory = {
    informer: <T extends KubeObject>(resource: GroupVersionResource) =>
      this.#informer(resource) as unknown as Informer<T>,
    metadata: {
      synced: Promise.resolve(),
      addHandlers: (handlers) => {
        this.#metadata.add(handlers);
        handlers.synced?.();
        return () => void this.#metadata.delete(handlers);
      },
      list: ({ cluster, namespace, resource }) =>
        [...this.#objects.values()]
          .filter(({ reference }) => reference.cluster === cluster)
          .filter(({ reference }) => namespace === undefined || reference.namespace === namespace)
          .filter((one) => resource === undefined || isSame(one.resource, resource))
          .map(recordOf)
          .values(),
      count: ({ cluster, namespace, resource }) =>
        [...this.#objects.values()].filter(
          ({ reference, resource: { group, resource: name } }) =>
            reference.cluster === cluster &&
            (namespace === undefined || reference.namespace === namespace) &&
            group === resource.group &&
            name === resource.resource,
        ).length,
    },
  };

  readonly client: ObjectClient = {
    get: async (resource, reference) => deepCopyOf(this.#find(resource, reference).object),
    list: async (resource, { cluster, namespace }) => ({
      apiVersion: 'v1',
      kind: 'List',
      metadata: {},
      items: this.all(resource, cluster === '*' ? undefined : cluster)
        .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
        .map((object) => deepCopyOf(object)),
    }),
    create: async (resource, cluster, object) => {
      const reference = { cluster, namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
      this.#begin('create', resource, reference);
      return deepCopyOf(this.put(resource, cluster, object, true));
    },
    update: async (resource, cluster, object, options = {}) => {
      const { name = '', namespace = '', resourceVersion } = object.metadata;
      return this.#change(
        'update',
        resource,
        { cluster, namespace, name },
        options.subresource,
        resourceVersion,
        object,
      );
    },
    patch: async (resource, reference, type, patch, options = {}) => {
      const { resourceVersion } = (patch as { metadata?: { resourceVersion?: string } }).metadata ?? {};
      const before = deepCopyOf(this.#find(resource, reference).object);
      // Server-side apply replaces the applied fields; field ownership is not simulated.
      const merged =
        type === 'application/apply-patch+yaml'
          ? { ...before, ...(patch as JsonObject), metadata: before.metadata }
          : (merge(asJson(before), patch) as KubeObject);
      return this.#change('patch', resource, reference, options.subresource, resourceVersion, merged);
    },
    delete: async (resource, reference) => {
      this.#begin('delete', resource, reference);
      this.remove(resource, reference);
    },
    deleteCollection: async (resource, { cluster, namespace }) => {
      this.#begin('deletecollection', resource, { cluster, namespace: namespace ?? '', name: '' });
      for (const one of Array.from(this.#objects.values()))
        if (
          isSame(one.resource, resource) &&
          one.reference.cluster === cluster &&
          (namespace === undefined || one.reference.namespace === namespace)
        )
          this.remove(one.resource, one.reference);
    },
  };

  /** Updates an object together with its status. */
  async updateWithStatus(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
  ): Promise<KubeObject> {
    const { name = '', namespace = '', resourceVersion } = object.metadata;
    return this.#change('update', resource, { cluster, namespace, name }, 'whole', resourceVersion, object);
  }

  /** Stores an object as another client, without {@link onWrite}. */
  put(resource: GroupVersionResource, cluster: LogicalClusterName, object: KubeObject, isNew = false): KubeObject {
    const { name = '', namespace = '' } = object.metadata;
    const reference = { cluster, namespace, name };
    const old = this.#objects.get(place(resource, reference))?.object;
    if (isNew && old !== undefined) throw statusErrors.alreadyExists(resource, name);
    const revision = ++this.#revision;
    const stored = deepCopyOf(object);
    stored.metadata = {
      ...stored.metadata,
      uid: old?.metadata.uid ?? stored.metadata.uid ?? `uid-${revision}`,
      resourceVersion: String(revision),
      annotations: { ...stored.metadata.annotations, [clusterAnnotation]: cluster },
    };
    const entry = { resource, reference, object: deepFreeze(stored as unknown as JsonObject) as unknown as KubeObject };
    this.#objects.set(place(resource, reference), entry);
    for (const handlers of this.#of(resource)) {
      if (old === undefined) handlers.added?.(entry.object, reference);
      else handlers.updated?.(entry.object, old, reference);
    }
    const before = old === undefined ? undefined : recordOf({ ...entry, object: old });
    for (const handlers of this.#metadata) handlers.changed(recordOf(entry), before);
    return entry.object;
  }

  /** Deletes like the API server: an object with finalizers gets a deletion timestamp. */
  remove(resource: GroupVersionResource, reference: ObjectReference): void {
    const entry = this.#find(resource, reference);
    const { metadata } = entry.object;
    const finalizers = [...(metadata.finalizers ?? []), ...(finalizersOfDeletion(resource)?.(entry.object) ?? [])];
    if (finalizers.length > 0) {
      if (metadata.deletionTimestamp !== undefined) return;
      const marked = { ...metadata, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' };
      this.put(resource, reference.cluster, { ...entry.object, metadata: marked });
      return;
    }
    this.#removeEntry(entry);
  }

  /** Removes an object without regard to finalizers. */
  drop(resource: GroupVersionResource, reference: ObjectReference): void {
    this.#begin('delete', resource, reference);
    this.#removeEntry(this.#find(resource, reference));
  }

  get<T extends KubeObject = KubeObject>(
    resource: GroupVersionResource,
    cluster: string,
    name: string,
    namespace = '',
  ): DeepReadonly<T> | undefined {
    const reference = { cluster: cluster as LogicalClusterName, namespace, name };
    return this.#objects.get(place(resource, reference))?.object as DeepReadonly<T> | undefined;
  }

  all(resource: GroupVersionResource, cluster?: LogicalClusterName): KubeObject[] {
    return [...this.#objects.values()]
      .filter((one) => isSame(one.resource, resource) && (cluster === undefined || one.reference.cluster === cluster))
      .map(({ object }) => object);
  }

  #removeEntry(entry: Stored): void {
    const { resource, reference, object } = entry;
    this.#objects.delete(place(resource, reference));
    for (const handlers of this.#of(resource)) handlers.deleted?.(object, reference);
    for (const handlers of this.#metadata) handlers.deleted(recordOf(entry));
  }

  #informer(resource: GroupVersionResource): Informer {
    return {
      synced: Promise.resolve(),
      get: (reference) => this.#objects.get(place(resource, reference))?.object,
      list: ({ cluster } = {}) => this.all(resource, cluster),
      addHandlers: (handlers) => {
        this.#of(resource).add(handlers);
        for (const { object, reference } of [...this.#objects.values()].filter((one) => isSame(one.resource, resource)))
          handlers.added?.(object, reference, true);
        handlers.synced?.();
        return () => void this.#of(resource).delete(handlers);
      },
    };
  }

  #of({ group, resource }: GroupVersionResource): Set<InformerHandlers> {
    const key = `${resource}.${group}`;
    const known = this.#handlers.get(key) ?? new Set();
    this.#handlers.set(key, known);
    return known;
  }

  #change(
    verb: string,
    resource: GroupVersionResource,
    reference: ObjectReference,
    subresource: string | undefined,
    resourceVersion: string | undefined,
    object: KubeObject,
  ): KubeObject {
    this.#begin(subresource === 'status' ? `${verb}/status` : verb, resource, reference);
    const { object: old } = this.#find(resource, reference);
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion)
      throw statusErrors.conflict(resource, reference.name, 'the object has been modified');
    const changed: KubeObject =
      subresource === 'status'
        ? { ...(keepsMetadata(resource) ? old : { ...old, metadata: object.metadata }), status: object['status'] }
        : { ...object, status: (subresource === 'whole' ? object : old)['status'] };
    if (changed['status'] === undefined) delete changed['status'];
    const { deletionTimestamp, finalizers = [] } = changed.metadata;
    const stored = this.put(resource, reference.cluster, changed);
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.remove(resource, reference);
    return deepCopyOf(stored);
  }

  #begin(verb: string, resource: GroupVersionResource, reference: ObjectReference): void {
    this.onWrite(verb, resource, reference);
    this.writes.push(`${verb} ${resource.resource} ${reference.cluster}|${reference.name}`);
  }

  #find(resource: GroupVersionResource, reference: ObjectReference): Stored {
    const entry = this.#objects.get(place(resource, reference));
    if (entry === undefined) throw statusErrors.notFound(resource, reference.name);
    return entry;
  }
}

const isSame = (a: GroupVersionResource, b: GroupVersionResource): boolean =>
  a.group === b.group && a.resource === b.resource;
const deepCopyOf = (object: KubeObject): KubeObject =>
  deepCopy(object as unknown as JsonObject) as unknown as KubeObject;

function recordOf({ resource, reference, object }: Stored): ObjectMetadataRecord {
  return {
    ...reference,
    resource,
    kind: object.kind ?? '',
    uid: object.metadata.uid ?? '',
    revision: Number(object.metadata.resourceVersion),
    metadata: object.metadata,
    isIndependent: false,
  };
}

function merge(into: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(into) ? { ...into } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key] ?? null, value);
  }
  return result;
}

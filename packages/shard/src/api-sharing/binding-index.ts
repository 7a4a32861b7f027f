import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { CacheSubscription, isBoundAsVirtual, type ObjectReader } from '@multiplane/apiserver';
import {
  apiBindings,
  isReleased,
  type AcceptablePermissionClaim,
  type APIBinding,
  type BoundResource,
  type PermissionClaim,
} from '@multiplane/apis';
import { compareKeys, customResourcePrefix, listPrefix, type CacheEntry, type WatchCache } from '@multiplane/storage';
import { LRUCache } from 'lru-cache';

/** The fields of an APIBinding that requests need. */
export interface IndexedBinding {
  readonly name: string;
  /** Logical cluster of the export, once the binding's controller has resolved it. */
  readonly exportCluster: LogicalClusterName | undefined;
  /** As in the spec: a path, a logical cluster name, or undefined for the binding's own. */
  readonly exportPath: string | undefined;
  readonly exportName: string;
  readonly deleting: boolean;
  /** The binding is being deleted and the objects of its APIs are gone: its permission claims end. */
  readonly released: boolean;
  readonly bound: DeepReadonly<readonly BoundResource[]>;
  readonly claims: DeepReadonly<readonly AcceptablePermissionClaim[]>;
  /** The claims of the export, as the binding's controller last recorded them. */
  readonly exportClaims: DeepReadonly<readonly PermissionClaim[]>;
  readonly labels: Readonly<Record<string, string>>;
}

/** A bound resource with its binding. */
export interface IndexedResource {
  readonly binding: IndexedBinding;
  readonly bound: DeepReadonly<BoundResource>;
}

export interface BindingIndexOptions {
  /** Capacity of the LRU cache: the sum of bindings, bound resources and claims. Default: 65536. */
  readonly maxWeight?: number | undefined;
}

export interface BindingIndexModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
}

interface ClusterBindings {
  readonly bindings: readonly IndexedBinding[];
  readonly resources: ReadonlyMap<string, IndexedResource>;
  /** The sum of bindings, bound resources and claims. */
  readonly weight: number;
  /** Bindings that changed after this was computed, by name; undefined if deleted. */
  changed?: Map<string, CacheEntry | undefined>;
}

const prefix = customResourcePrefix(apiBindings.group, apiBindings.resource);
const defaultMaxWeight = 64 * 1024;
const noBindings: ClusterBindings = Object.freeze({ bindings: [], resources: new Map(), weight: 1 });
const noLabels: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Index of the APIs bound in each logical cluster, over the APIBindings in the watch cache.
 *
 * Entries are computed on first use per logical cluster and stay in an LRU cache with bounded weight. A changed binding
 * invalidates its cluster's entry before subscribers are notified; the next read decodes only the changed bindings, because a
 * cluster may have thousands. The only state over all bindings is the number of bindings per schema, identity and resource,
 * which grows with the exported schemas and not with their consumers.
 */
export class BindingIndex {
  readonly #modules: BindingIndexModules;
  readonly #clusters: LRUCache<LogicalClusterName, ClusterBindings>;
  /** Uid of schema → number of bindings, by {@link identityKey}. */
  readonly #schemas = new Map<string, Map<string, number>>();
  /** Number of bindings as a virtual resource, by {@link identityKey}. */
  readonly #virtual = new Map<string, number>();
  readonly #listeners = new Set<(cluster: LogicalClusterName) => void>();
  #isFollowing = false;
  #unsubscribe: (() => void) | undefined;
  #counting: CacheSubscription | undefined;

  constructor(options: BindingIndexOptions, modules: BindingIndexModules) {
    const maxSize = options.maxWeight ?? defaultMaxWeight;
    this.#clusters = new LRUCache({ maxSize, sizeCalculation: ({ weight }) => Math.min(weight, maxSize) });
    this.#modules = modules;
  }

  /** Subscribes to the cache, which must be ready. Before the start, every read computes its result anew. */
  start(): void {
    this.#isFollowing = true;
    this.#follow();
    this.#counting = new CacheSubscription(
      { scope: prefix },
      {
        cache: this.#modules.cache,
        handler: {
          changed: (current, previous) => this.#count(current, previous),
          removed: (previous) => this.#count(undefined, previous),
        },
      },
    );
  }

  /** Resolves when all bindings of the initial state are counted. */
  get synced(): Promise<void> {
    return this.#counting?.synced ?? Promise.resolve();
  }

  stop(): void {
    this.#isFollowing = false;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#counting?.stop();
    this.#clusters.clear();
  }

  /** The bindings of a logical cluster sorted by name, including those being deleted. */
  of(cluster: LogicalClusterName): readonly IndexedBinding[] {
    return this.#get(cluster).bindings;
  }

  /** The binding that provides a resource in a logical cluster. */
  boundResource(cluster: LogicalClusterName, group: string, resource: string): IndexedResource | undefined {
    return this.#get(cluster).resources.get(resourceKey(group, resource));
  }

  /** All bound resources of a logical cluster without duplicates. */
  boundResources(cluster: LogicalClusterName): Iterable<IndexedResource> {
    return this.#get(cluster).resources.values();
  }

  /** UIDs of the schemas of a resource and identity that are bound on this shard, by descending number of bindings. */
  schemasOf(identity: string, group: string, resource: string): string[] {
    const counts = this.#schemas.get(identityKey(identity, group, resource));
    return counts === undefined
      ? []
      : Array.from(counts)
          .toSorted(([, a], [, b]) => b - a)
          .map(([uid]) => uid);
  }

  /** Whether the resource of an identity is bound as a virtual resource in a logical cluster of this shard. */
  isVirtual(identity: string, group: string, resource: string): boolean {
    return this.#virtual.has(identityKey(identity, group, resource));
  }

  /** Notifies of changed bindings once {@link of} returns the new state. The listener must neither block nor throw. */
  subscribe(listener: (cluster: LogicalClusterName) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #get(cluster: LogicalClusterName): ClusterBindings {
    const cached = this.#clusters.get(cluster);
    if (cached !== undefined && cached.changed === undefined) return cached;
    const made = clusterBindings(
      cached?.changed === undefined ? this.#read(cluster) : this.#updated(cached, cached.changed),
    );
    if (this.#isFollowing) this.#clusters.set(cluster, made);
    return made;
  }

  #read(cluster: LogicalClusterName): IndexedBinding[] {
    return this.#modules.cache.listCurrent(listPrefix(prefix, cluster)).map((entry) => this.#indexed(entry));
  }

  #updated(
    { bindings }: ClusterBindings,
    changed: ReadonlyMap<string, CacheEntry | undefined>,
  ): readonly IndexedBinding[] {
    const left = new Map(changed);
    const updated: IndexedBinding[] = [];
    for (const binding of bindings) {
      const entry = left.get(binding.name);
      if (!left.delete(binding.name)) updated.push(binding);
      else if (entry !== undefined) updated.push(this.#indexed(entry));
    }
    if (left.size === 0) return updated;
    for (const entry of left.values()) if (entry !== undefined) updated.push(this.#indexed(entry));
    return updated.sort((a, b) => compareKeys(a.name, b.name));
  }

  #indexed(entry: CacheEntry): IndexedBinding {
    return indexed(this.#modules.reader.stored(entry));
  }

  /** Subscribes, and resubscribes when the cache resets; then all logical clusters with bindings count as changed. */
  #follow(): void {
    const { cache } = this.#modules;
    this.#clusters.clear();
    this.#unsubscribe = cache.subscribe({
      scope: prefix,
      after: cache.revision,
      onEvent: ({ current, previous }) => {
        const entry = (current ?? previous) as CacheEntry;
        const cluster = clusterOf(entry);
        const cached = this.#clusters.peek(cluster);
        if (cached === noBindings) this.#clusters.delete(cluster);
        else if (cached !== undefined) (cached.changed ??= new Map()).set(nameOf(entry), current);
        for (const listener of this.#listeners) listener(cluster);
      },
      onEnd: (_reason, before) => {
        // Without a previous state the cache was closed.
        if (before === undefined || !this.#isFollowing) return;
        const clusters = new Set<LogicalClusterName>();
        for (const state of [before, cache.snapshot(prefix)]) {
          for (const entry of state.entries(undefined, Number.POSITIVE_INFINITY)) clusters.add(clusterOf(entry));
        }
        this.#follow();
        for (const cluster of clusters) for (const listener of this.#listeners) listener(cluster);
      },
    });
  }

  #count(current: CacheEntry | undefined, previous: CacheEntry | undefined): void {
    for (const [entry, by] of [
      [current, 1],
      [previous, -1],
    ] as const) {
      if (entry === undefined) continue;
      const { status } = this.#modules.reader.stored(entry) as DeepReadonly<APIBinding>;
      for (const bound of status?.boundResources ?? []) {
        const { group, resource, schema } = bound;
        const key = identityKey(schema.identityHash, group, resource);
        let schemas = this.#schemas.get(key);
        if (schemas === undefined) this.#schemas.set(key, (schemas = new Map<string, number>()));
        addTo(schemas, schema.UID, by);
        if (schemas.size === 0) this.#schemas.delete(key);
        if (isBoundAsVirtual(bound)) addTo(this.#virtual, key, by);
      }
    }
  }
}

function clusterBindings(bindings: readonly IndexedBinding[]): ClusterBindings {
  if (bindings.length === 0) return noBindings;
  const resources = new Map<string, IndexedResource>();
  let weight = 1;
  for (const binding of bindings) {
    weight += 1 + binding.bound.length + binding.claims.length;
    for (const bound of binding.bound) {
      const key = resourceKey(bound.group, bound.resource);
      // The resource name lock admits one binding per resource. During the hand-over from a binding that is being
      // deleted, the other one takes precedence.
      if (resources.get(key)?.binding.deleting !== false) resources.set(key, { binding, bound });
    }
  }
  return { bindings, resources, weight };
}

function indexed(object: DeepReadonly<APIBinding>): IndexedBinding {
  const { metadata, spec, status } = object;
  const { path, name = '' } = spec?.reference?.export ?? {};
  return {
    name: metadata.name ?? '',
    exportCluster: status?.apiExportClusterName as LogicalClusterName | undefined,
    exportPath: path,
    exportName: name,
    deleting: metadata.deletionTimestamp !== undefined,
    released: isReleased(object),
    bound: status?.boundResources ?? [],
    claims: spec?.permissionClaims ?? [],
    exportClaims: status?.exportPermissionClaims ?? [],
    labels: metadata.labels ?? noLabels,
  };
}

function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

const resourceKey = (group: string, resource: string): string => `${group}/${resource}`;
const identityKey = (identity: string, group: string, resource: string): string => `${identity}/${group}/${resource}`;

function clusterOf({ key }: CacheEntry): LogicalClusterName {
  return key.slice(prefix.length, key.indexOf('/', prefix.length)) as LogicalClusterName;
}

const nameOf = ({ key }: CacheEntry): string => key.slice(key.lastIndexOf('/') + 1);

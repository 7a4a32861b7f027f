import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { CacheSubscription, RecentlyUsed, type ObjectReader } from '@multiplane/apiserver';
import {
  apiBindings,
  isReleased,
  type AcceptablePermissionClaim,
  type APIBinding,
  type BoundResource,
  type PermissionClaim,
} from '@multiplane/apis';
import { compareKeys, customResourcePrefix, listPrefix, type CacheEntry, type WatchCache } from '@multiplane/storage';

/** What an APIBinding says, without what only its controller needs. */
export interface IndexedBinding {
  readonly name: string;
  /** Logical cluster of the export, once it was found. */
  readonly exportCluster: LogicalClusterName | undefined;
  /** As the consumer wrote it: a path, a logical cluster, or nothing for the binding's own. */
  readonly exportPath: string | undefined;
  readonly exportName: string;
  readonly deleting: boolean;
  /** It is being deleted, and the objects of its APIs are gone: its claims end. */
  readonly released: boolean;
  readonly bound: DeepReadonly<readonly BoundResource[]>;
  readonly claims: DeepReadonly<readonly AcceptablePermissionClaim[]>;
  /** What the export claims, as far as the binding's controller has seen it. */
  readonly exportClaims: DeepReadonly<readonly PermissionClaim[]>;
  readonly labels: Readonly<Record<string, string>>;
}

/** A resource as a binding brings it into a logical cluster. */
export interface IndexedResource {
  readonly binding: IndexedBinding;
  readonly bound: DeepReadonly<BoundResource>;
}

export interface BindingIndexOptions {
  /** How much is kept ready, in bindings, bound resources and claims; absent: as much as a busy shard looks at. */
  readonly maxParts?: number | undefined;
}

export interface BindingIndexModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
}

interface ClusterBindings {
  readonly bindings: readonly IndexedBinding[];
  readonly resources: ReadonlyMap<string, IndexedResource>;
  readonly parts: number;
  /** What became of bindings since this was made, by name; undefined: gone. */
  changed?: Map<string, CacheEntry | undefined>;
}

const prefix = customResourcePrefix(apiBindings.group, apiBindings.resource);
const defaultMaxParts = 64 * 1024;
const nothing: ClusterBindings = Object.freeze({ bindings: [], resources: new Map(), parts: 1 });
const noLabels: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Which APIs are bound in which logical cluster (C2.6, C3.4), read off the watch cache.
 *
 * Nothing is kept per binding. What the bindings of a logical cluster say is made when somebody asks, kept among the least
 * recently used up to a total of parts, and out of date in the moment one of them changes, before anybody who subscribed is
 * told: whoever asks then has the changed ones read again, and no others. A tenant may have ten thousand. Counted over all
 * bindings are only the schemas behind each identity and resource: of these there are as many as exports offer, however
 * many bind them.
 */
export class BindingIndex {
  readonly #modules: BindingIndexModules;
  readonly #kept: RecentlyUsed<LogicalClusterName, ClusterBindings>;
  /** Uid of schema → number of bindings, by {@link identityKey}. */
  readonly #schemas = new Map<string, Map<string, number>>();
  readonly #listeners = new Set<(cluster: LogicalClusterName) => void>();
  #follows = false;
  #unsubscribe: (() => void) | undefined;
  #counting: CacheSubscription | undefined;

  constructor(options: BindingIndexOptions, modules: BindingIndexModules) {
    this.#kept = new RecentlyUsed(options.maxParts ?? defaultMaxParts, ({ parts }) => parts);
    this.#modules = modules;
  }

  /** Begins to follow changes; needs a cache that is loaded. Before, everything is read anew each time. */
  start(): void {
    this.#follows = true;
    this.#follow();
    this.#counting = new CacheSubscription(
      { scope: prefix },
      {
        cache: this.#modules.cache,
        follower: {
          changed: (current, previous) => this.#count(current, previous),
          removed: (previous) => this.#count(undefined, previous),
        },
      },
    );
  }

  /** Resolves when all bindings are counted that were there at the start. */
  get synced(): Promise<void> {
    return this.#counting?.synced ?? Promise.resolve();
  }

  stop(): void {
    this.#follows = false;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#counting?.stop();
    this.#kept.clear();
  }

  /** The bindings of a logical cluster in the order of their names; those being deleted are among them. */
  of(cluster: LogicalClusterName): readonly IndexedBinding[] {
    return this.#get(cluster).bindings;
  }

  /** The binding through which a logical cluster has a resource, and what it binds. */
  boundResource(cluster: LogicalClusterName, group: string, resource: string): IndexedResource | undefined {
    return this.#get(cluster).resources.get(resourceKey(group, resource));
  }

  /** Every bound resource of a logical cluster, each once. */
  boundResources(cluster: LogicalClusterName): Iterable<IndexedResource> {
    return this.#get(cluster).resources.values();
  }

  /** Uids of the schemas by which a resource of an identity is bound on this shard, the one with most bindings first. */
  schemasOf(identity: string, group: string, resource: string): string[] {
    const counts = this.#schemas.get(identityKey(identity, group, resource));
    return counts === undefined
      ? []
      : Array.from(counts)
          .toSorted(([, a], [, b]) => b - a)
          .map(([uid]) => uid);
  }

  /** Tells of every change of a binding, when {@link of} already answers with it; must neither block nor throw. */
  subscribe(listener: (cluster: LogicalClusterName) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #get(cluster: LogicalClusterName): ClusterBindings {
    const kept = this.#kept.get(cluster);
    if (kept !== undefined && kept.changed === undefined) return kept;
    const made = clusterBindings(kept?.changed === undefined ? this.#read(cluster) : this.#updated(kept, kept.changed));
    if (this.#follows) this.#kept.set(cluster, made);
    return made;
  }

  #read(cluster: LogicalClusterName): IndexedBinding[] {
    return this.#modules.cache.present(listPrefix(prefix, cluster)).map((entry) => this.#indexed(entry));
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

  /** Subscribes, and again when the cache starts over: then everything may have changed. */
  #follow(): void {
    const { cache } = this.#modules;
    this.#kept.clear();
    this.#unsubscribe = cache.subscribe({
      scope: prefix,
      after: cache.revision,
      onEvent: ({ current, previous }) => {
        const entry = (current ?? previous) as CacheEntry;
        const cluster = clusterOf(entry);
        const kept = this.#kept.peek(cluster);
        if (kept === nothing) this.#kept.delete(cluster);
        else if (kept !== undefined) (kept.changed ??= new Map()).set(nameOf(entry), current);
        for (const listener of this.#listeners) listener(cluster);
      },
      onEnd: (_reason, before) => {
        // Without a state before it the cache is closed for good.
        if (before === undefined || !this.#follows) return;
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
      for (const { group, resource, schema } of status?.boundResources ?? []) {
        this.#add(identityKey(schema.identityHash, group, resource), schema.UID, by);
      }
    }
  }

  #add(key: string, uid: string, by: number): void {
    let counts = this.#schemas.get(key);
    if (counts === undefined) this.#schemas.set(key, (counts = new Map<string, number>()));
    const count = (counts.get(uid) ?? 0) + by;
    if (count > 0) counts.set(uid, count);
    else counts.delete(uid);
    if (counts.size === 0) this.#schemas.delete(key);
  }
}

function clusterBindings(bindings: readonly IndexedBinding[]): ClusterBindings {
  if (bindings.length === 0) return nothing;
  const resources = new Map<string, IndexedResource>();
  let parts = 1;
  for (const binding of bindings) {
    parts += 1 + binding.bound.length + binding.claims.length;
    for (const bound of binding.bound) {
      const key = resourceKey(bound.group, bound.resource);
      // The lock on the logical cluster lets one binding have a resource; while one takes it over from another that
      // goes, the one that stays counts.
      if (resources.get(key)?.binding.deleting !== false) resources.set(key, { binding, bound });
    }
  }
  return { bindings, resources, parts };
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

const resourceKey = (group: string, resource: string): string => `${group}/${resource}`;
const identityKey = (identity: string, group: string, resource: string): string => `${identity}/${group}/${resource}`;

function clusterOf({ key }: CacheEntry): LogicalClusterName {
  return key.slice(prefix.length, key.indexOf('/', prefix.length)) as LogicalClusterName;
}

const nameOf = ({ key }: CacheEntry): string => key.slice(key.lastIndexOf('/') + 1);

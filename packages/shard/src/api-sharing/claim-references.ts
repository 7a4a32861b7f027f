import {
  JsonPath,
  type DeepReadonly,
  type GroupResource,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { CacheSubscription, type ObjectReader } from '@multiplane/apiserver';
import {
  apiBindings,
  claimsInForce,
  isReleased,
  referencedObject,
  type APIBinding,
  type ClaimReference,
} from '@multiplane/apis';
import { customResourcePrefix, parseObjectKey, type CacheEntry, type WatchCache } from '@multiplane/storage';

/** References of objects of one identity to objects of a claimed resource. */
export interface ReferenceSource {
  /** Equal for sources with the same references. */
  readonly key: string;
  readonly claimed: GroupResource;
  /** Where the objects that refer are stored. */
  readonly prefix: string;
  readonly path: string;
  readonly otherNamespaces: boolean;
}

/** A claimed object that was named for the first time, or no longer is. `namespace` is that of the reference. */
export interface ReferenceChange {
  readonly cluster: LogicalClusterName;
  readonly claimed: GroupResource;
  readonly namespace: string;
  readonly name: string;
}

/** Namespaces in which a name is referred to, with the number of references; one namespace and one reference is its name. */
type Owners = string | Map<string, number>;

interface Modules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
}

/** Of one object; what more it names is left out. */
const maxReferences = 1_000;
const bindingsPrefix = customResourcePrefix(apiBindings.group, apiBindings.resource);

/** The source of a reference in a logical cluster; undefined while the cluster does not bind the resource that refers. */
export function sourceOf(
  { group = '', resource, path, otherNamespaces = false }: DeepReadonly<ClaimReference>,
  claimed: GroupResource,
  bound: readonly { readonly group: string; readonly resource: string; readonly schema: { identityHash: string } }[],
): ReferenceSource | undefined {
  const found = bound.find((one) => one.group === group && one.resource === resource);
  if (found === undefined) return undefined;
  const prefix = customResourcePrefix(group, resource, found.schema.identityHash);
  const key = JSON.stringify([claimed.group, claimed.resource, prefix, path, otherNamespaces]);
  return { key, claimed, prefix, path, otherNamespaces };
}

/**
 * Which claimed objects are named by objects of the exports that claim them, for the claims with `objects.references` of all
 * logical clusters of this shard.
 *
 * It follows the APIBindings: as long as one of them accepts a claim with a reference, the objects of the resource that
 * refers are followed, with one subscription for all consumers. Per named object it holds its name and the namespace; the
 * objects themselves are read once per change. A change of the set is reported once {@link has} knows it; what the initial list of a source names is not reported.
 */
export class ClaimReferences {
  readonly #modules: Modules;
  readonly #sources = new Map<string, { readonly set: ReferenceSet; users: number }>();
  readonly #listeners = new Set<(change: ReferenceChange) => void>();
  #bindings: CacheSubscription | undefined;
  #hasBindings = false;

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  /** Subscribes to the cache, which must be ready. */
  start(): void {
    this.#bindings = new CacheSubscription(
      { scope: bindingsPrefix },
      {
        cache: this.#modules.cache,
        handler: {
          changed: (current, previous) => this.#replace(this.#sourcesOf(current), this.#sourcesOf(previous)),
          removed: (previous) => this.#replace([], this.#sourcesOf(previous)),
        },
      },
    );
    this.#bindings.whenSynced(() => (this.#hasBindings = true));
  }

  stop(): void {
    this.#bindings?.stop();
    for (const { set } of this.#sources.values()) set.stop();
    this.#sources.clear();
  }

  /** Undefined: all references of these sources are known; else it resolves when they are. */
  ready(sources: readonly ReferenceSource[]): Promise<void> | undefined {
    if (sources.length === 0) return undefined;
    const isReady = this.#hasBindings && sources.every((source) => this.#find(source)?.isSynced !== false);
    return isReady ? undefined : this.#wait(sources);
  }

  /** Whether an object is named. `namespace` is empty for an object without one. */
  has(source: ReferenceSource, cluster: LogicalClusterName, namespace: string, name: string): boolean {
    return this.#find(source)?.has(cluster, namespace, name) === true;
  }

  /** The listener must neither block nor throw. */
  subscribe(listener: (change: ReferenceChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #find(source: ReferenceSource): ReferenceSet | undefined {
    return this.#sources.get(source.key)?.set;
  }

  async #wait(sources: readonly ReferenceSource[]): Promise<void> {
    await this.#bindings?.synced;
    await Promise.all(sources.flatMap((source) => this.#find(source)?.synced ?? []));
  }

  #sourcesOf(entry: CacheEntry | undefined): readonly ReferenceSource[] {
    // Most bindings have no such claim, and are not parsed for it.
    if (entry === undefined || !entry.value.includes('"references"')) return [];
    const binding = this.#modules.reader.stored(entry) as DeepReadonly<APIBinding>;
    const claims = binding.spec?.permissionClaims ?? [];
    if (claims.length === 0 || isReleased(binding)) return [];
    const accepted = claims.filter(({ state }) => state === 'Accepted');
    return claimsInForce(accepted, binding.status?.exportPermissionClaims).flatMap(
      ({ group = '', resource, objects }) =>
        (objects?.references ?? []).flatMap(
          (reference) => sourceOf(reference, { group, resource }, binding.status?.boundResources ?? []) ?? [],
        ),
    );
  }

  /** Adds before it removes, so that a source that stays in use is not loaded anew. */
  #replace(added: readonly ReferenceSource[], removed: readonly ReferenceSource[]): void {
    for (const source of added) {
      const { key } = source;
      const known = this.#sources.get(key);
      if (known !== undefined) known.users++;
      else
        this.#sources.set(key, {
          set: new ReferenceSet(source, {
            ...this.#modules,
            changed: (change) => {
              for (const listener of this.#listeners) listener(change);
            },
          }),
          users: 1,
        });
    }
    for (const source of removed) {
      const { key } = source;
      const known = this.#sources.get(key);
      if (known === undefined || --known.users > 0) continue;
      this.#sources.delete(key);
      known.set.stop();
    }
  }
}

/** The names that objects of one source refer to. */
class ReferenceSet {
  readonly #source: ReferenceSource;
  readonly #reader: ObjectReader;
  readonly #path: JsonPath | undefined;
  readonly #changed: (change: ReferenceChange) => void;
  readonly #subscription: CacheSubscription;
  readonly #names = new Map<LogicalClusterName, Map<string, Owners>>();
  isSynced = false;

  constructor(source: ReferenceSource, modules: Modules & { readonly changed: (change: ReferenceChange) => void }) {
    this.#source = source;
    this.#reader = modules.reader;
    this.#changed = modules.changed;
    this.#path = pathOf(source.path);
    this.#subscription = new CacheSubscription(
      { scope: source.prefix },
      {
        cache: modules.cache,
        handler: {
          changed: (current, previous, isInInitialList) => this.#replace(current, previous, isInInitialList !== true),
          removed: (previous) => this.#replace(undefined, previous, true),
        },
      },
    );
    this.#subscription.whenSynced(() => (this.isSynced = true));
  }

  get synced(): Promise<void> {
    return this.#subscription.synced;
  }

  stop(): void {
    this.#subscription.stop();
  }

  has(cluster: LogicalClusterName, namespace: string, name: string): boolean {
    const owners = this.#names.get(cluster)?.get(name);
    if (owners === undefined) return false;
    // An object without a namespace lies outside of those of the objects that name it.
    if (namespace === '' && this.#source.otherNamespaces) return true;
    return typeof owners === 'string' ? owners === namespace : owners.has(namespace);
  }

  #replace(current: CacheEntry | undefined, previous: CacheEntry | undefined, isReported: boolean): void {
    const before = this.#targetsOf(previous);
    const now = this.#targetsOf(current);
    const cluster = parseObjectKey(this.#source.prefix, (current ?? previous)?.key ?? '')?.cluster;
    if (cluster === undefined) return;
    for (const [key, [namespace, name]] of now)
      if (!before.has(key) && this.#add(cluster, namespace, name) && isReported) this.#report(cluster, namespace, name);
    for (const [key, [namespace, name]] of before)
      if (!now.has(key) && this.#remove(cluster, namespace, name)) this.#report(cluster, namespace, name);
  }

  #report(cluster: LogicalClusterName, namespace: string, name: string): void {
    this.#changed({ cluster, claimed: this.#source.claimed, namespace, name });
  }

  /** What an object names, without duplicates. */
  #targetsOf(entry: CacheEntry | undefined): ReadonlyMap<string, readonly [namespace: string, name: string]> {
    const targets = new Map<string, readonly [string, string]>();
    const location = entry === undefined ? undefined : parseObjectKey(this.#source.prefix, entry.key);
    if (entry === undefined || location === undefined || this.#path === undefined) return targets;
    for (const value of this.#path.find(this.#reader.stored(entry) as unknown as DeepReadonly<Json>)) {
      const target = referencedObject(value, location.namespace, this.#source.otherNamespaces);
      if (target !== undefined) targets.set(target.join('/'), target);
      if (targets.size === maxReferences) break;
    }
    return targets;
  }

  /** Whether it is the first reference. */
  #add(cluster: LogicalClusterName, namespace: string, name: string): boolean {
    let names = this.#names.get(cluster);
    if (names === undefined) this.#names.set(cluster, (names = new Map<string, Owners>()));
    const owners = names.get(name);
    if (owners === undefined) {
      names.set(name, namespace);
      return true;
    }
    const counts = typeof owners === 'string' ? new Map([[owners, 1]]) : owners;
    if (counts !== owners) names.set(name, counts);
    const count = counts.get(namespace) ?? 0;
    counts.set(namespace, count + 1);
    return count === 0;
  }

  /** Whether it was the last reference. */
  #remove(cluster: LogicalClusterName, namespace: string, name: string): boolean {
    const names = this.#names.get(cluster);
    const owners = names?.get(name);
    if (names === undefined || owners === undefined) return false;
    if (typeof owners !== 'string') {
      const left = (owners.get(namespace) ?? 0) - 1;
      if (left > 0) {
        owners.set(namespace, left);
        return false;
      }
      owners.delete(namespace);
      if (owners.size > 0) return true;
    } else if (owners !== namespace) return false;
    names.delete(name);
    if (names.size === 0) this.#names.delete(cluster);
    return true;
  }
}

/** A path that admission of an older version accepted may be one that this one cannot read: it names nothing. */
function pathOf(text: string): JsonPath | undefined {
  try {
    return new JsonPath(text);
  } catch {
    return undefined;
  }
}

import type { StatusError } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema } from '@multiplane/apis';
import type { Informer } from '@multiplane/client';
import { ApiSet, type ServedResource } from '@multiplane/virtual-framework';
import type { ExportKey } from './export-bindings.ts';
import {
  dependenciesOfExport,
  dependencyOfSchema,
  type ExportResource,
  type ExportResourceFactory,
  type ExportResources,
} from './export-resources.ts';

export interface ExportApiSetsModules {
  /** APIExports of all shards. */
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  readonly factory: ExportResourceFactory;
  /** The export whose resources the set of a key has; undefined: none. Absent: the key is that of the export. */
  readonly exportOf?: (key: ExportKey) => ExportKey | undefined;
  /** Serves one resource in the set of a key, until `retired` aborts. */
  readonly serve: (key: ExportKey, resource: ExportResource, retired: AbortSignal) => ServedResource;
  /** The resource as the set of a key has it; undefined: the set does not have it. Absent: every set has all. */
  readonly resourceOf?: (key: ExportKey, resource: ExportResource) => ExportResource | undefined;
  /** Why the watches of a key end; undefined: their clients reconnect. */
  readonly endOf?: (key: ExportKey) => StatusError | undefined;
}

interface ServedEntry {
  readonly fingerprint: string;
  readonly resource: ServedResource;
  readonly retirement: AbortController;
}

interface CachedSet {
  readonly key: ExportKey;
  set: ApiSet;
  dependencies: ReadonlySet<string>;
  served: ReadonlyMap<string, ServedEntry>;
  stale: boolean;
  requests: number;
}

/** Resources of all cached API sets of a server; an empty set counts as one. Most exports have a few. */
const maxCachedResources = 32_768;

/**
 * The API sets of APIExports, or of the keys that {@link ExportApiSetsModules.exportOf} maps to them: built on the first request, and cached until an object that they depend on changes.
 *
 * A change marks the dependent sets as stale. Those with requests in flight are rebuilt in the next microtask, others by their next request.
 * Resources with an unchanged fingerprint are kept; the watches of all others end, so that clients reconnect to the new
 * definition. Beyond the limit the least recently used sets without requests in flight are evicted.
 */
export class ExportApiSets {
  readonly #modules: ExportApiSetsModules;
  readonly #factory: ExportResourceFactory;
  readonly #cache = new Map<string, CachedSet>();
  readonly #dependents = new Map<string, Set<CachedSet>>();
  /** Stale sets with requests in flight. */
  readonly #stale = new Set<CachedSet>();
  readonly #maxResources: number;
  /** Of all cached sets, by {@link weightOf}. */
  #weight = 0;

  constructor(
    { maxResources = maxCachedResources }: { readonly maxResources?: number | undefined },
    modules: ExportApiSetsModules,
  ) {
    this.#maxResources = maxResources;
    this.#modules = modules;
    const { exports, schemas } = modules;
    this.#factory = modules.factory;
    exports.addHandlers({
      added: (object, reference) => this.#changed(dependenciesOfExport(object, reference)),
      updated: (object, old, reference) =>
        this.#changed([...dependenciesOfExport(object, reference), ...dependenciesOfExport(old, reference)]),
      deleted: (old, reference) => this.#changed(dependenciesOfExport(old, reference)),
    });
    schemas.addHandlers({
      added: (_object, reference) => this.#changed([dependencyOfSchema(reference)]),
      updated: (_object, _old, reference) => this.#changed([dependencyOfSchema(reference)]),
      deleted: (_old, reference) => this.#changed([dependencyOfSchema(reference)]),
    });
  }

  /** The export of a key is another one now, or `resourceOf` has another result. */
  invalidate(key: ExportKey): void {
    this.#changed([keyDependency(key)]);
  }

  /**
   * Calls `serve` with the API set of an export, which is empty if the export does not exist, and keeps it until the
   * request has finished.
   */
  async serve(key: ExportKey, serve: (set: ApiSet) => Promise<void>): Promise<void> {
    if (this.#cache.get(cacheKeyOf(key))?.stale !== false) await this.#prepare(key);
    const cached = this.#get(key);
    cached.requests += 1;
    try {
      await serve(cached.set);
    } finally {
      cached.requests -= 1;
    }
  }

  #exportOf(key: ExportKey): ExportKey | undefined {
    const { exportOf } = this.#modules;
    return exportOf === undefined ? key : exportOf(key);
  }

  async #prepare(key: ExportKey): Promise<void> {
    const exportKey = this.#exportOf(key);
    if (exportKey !== undefined) await this.#factory.prepare(exportKey.cluster, exportKey.name);
  }

  #get(key: ExportKey): CachedSet {
    const text = cacheKeyOf(key);
    let cached = this.#cache.get(text);
    if (cached === undefined) {
      cached = { key, set: emptySet, dependencies: new Set(), served: new Map(), stale: true, requests: 0 };
      this.#weight += weightOf(cached);
    } else this.#cache.delete(text);
    this.#cache.set(text, cached);
    if (cached.stale) this.#rebuild(cached);
    this.#evictLeastRecentlyUsed(cached);
    return cached;
  }

  #rebuild(cached: CachedSet): void {
    const { key } = cached;
    const exportKey = this.#exportOf(key);
    const { resources, dependencies } =
      exportKey === undefined ? nothing : this.#factory.of(exportKey.cluster, exportKey.name);
    const { resourceOf } = this.#modules;
    const before = cached.served;
    const served = new Map<string, ServedEntry>();
    for (const exported of resources) {
      const resource = resourceOf === undefined ? exported : resourceOf(key, exported);
      if (resource === undefined) continue;
      const name = servedName(resource);
      const known = before.get(name);
      served.set(name, known?.fingerprint === resource.fingerprint ? known : this.#serve(key, resource));
    }
    this.#trackDependencies(cached, new Set([...dependencies, keyDependency(key)]));
    this.#weight -= weightOf(cached);
    cached.served = served;
    this.#weight += weightOf(cached);
    cached.set = new ApiSet(
      served
        .values()
        .map(({ resource }) => resource)
        .toArray(),
    );
    cached.stale = false;
    this.#stale.delete(cached);
    const end = this.#modules.endOf?.(key);
    for (const [name, { retirement }] of before) if (served.get(name)?.retirement !== retirement) retirement.abort(end);
  }

  #serve(key: ExportKey, resource: ExportResource): ServedEntry {
    const retirement = new AbortController();
    return {
      fingerprint: resource.fingerprint,
      resource: this.#modules.serve(key, resource, retirement.signal),
      retirement,
    };
  }

  #trackDependencies(cached: CachedSet, dependencies: ReadonlySet<string>): void {
    for (const gone of cached.dependencies.difference(dependencies)) this.#untrackDependency(cached, gone);
    for (const dependency of dependencies) {
      const dependents = this.#dependents.get(dependency);
      if (dependents === undefined) this.#dependents.set(dependency, new Set([cached]));
      else dependents.add(cached);
    }
    cached.dependencies = dependencies;
  }

  #untrackDependency(cached: CachedSet, dependency: string): void {
    const dependents = this.#dependents.get(dependency);
    if (dependents?.delete(cached) === true && dependents.size === 0) this.#dependents.delete(dependency);
  }

  #changed(dependencies: readonly string[]): void {
    for (const dependency of dependencies)
      for (const cached of this.#dependents.get(dependency) ?? []) {
        cached.stale = true;
        if (cached.requests === 0) continue;
        if (this.#stale.size === 0) queueMicrotask(() => void this.#refresh());
        this.#stale.add(cached);
      }
  }

  async #refresh(): Promise<void> {
    for (const cached of this.#stale) {
      await this.#prepare(cached.key);
      // A request may have rebuilt it meanwhile.
      if (this.#stale.has(cached)) this.#rebuild(cached);
    }
  }

  #evictLeastRecentlyUsed(used: CachedSet): void {
    if (this.#weight <= this.#maxResources) return;
    for (const [text, cached] of this.#cache) {
      if (cached === used || cached.requests > 0) continue;
      this.#cache.delete(text);
      this.#weight -= weightOf(cached);
      for (const dependency of cached.dependencies) this.#untrackDependency(cached, dependency);
      if (this.#weight <= this.#maxResources) return;
    }
  }
}

const weightOf = ({ served }: CachedSet): number => Math.max(1, served.size);
const cacheKeyOf = ({ cluster, name }: ExportKey): string => `${cluster}/${name}`;
const keyDependency = (key: ExportKey): string => `key ${cacheKeyOf(key)}`;
const emptySet = new ApiSet([]);
const nothing: ExportResources = { resources: [], dependencies: new Set() };
const servedName = ({ definition: { group, version, resource } }: ExportResource): string =>
  `${group}/${version}/${resource}`;

import type { APIExport, APIResourceSchema } from '@multiplane/apis';
import { ExportsByIdentity } from '@multiplane/apiserver';
import type { Informer } from '@multiplane/client';
import { ApiSet, type ServedResource } from '@multiplane/virtual-framework';
import type { ExportKey } from './export-bindings.ts';
import {
  dependenciesOfExport,
  dependencyOfSchema,
  ExportResourceFactory,
  type ExportResource,
} from './export-resources.ts';
import { exportedResource, type ExportedResourceModules } from './exported-resource.ts';

export interface ExportApisModules extends ExportedResourceModules {
  /** Of all shards. */
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
}

interface Served {
  readonly fingerprint: string;
  readonly resource: ServedResource;
  readonly retirement: AbortController;
}

interface Kept {
  readonly key: ExportKey;
  set: ApiSet;
  dependencies: ReadonlySet<string>;
  served: ReadonlyMap<string, Served>;
  stale: boolean;
  requests: number;
}

/** Exports whose views somebody looked at lately, per server. */
const maxKept = 1_000;

/**
 * What the views of exports serve: made when somebody asks, kept until something changes that it was made of.
 *
 * A change makes stale what depends on it, and is looked at once the turn is over in which it came: resources that are
 * served as before stay as they are, the watches of all others end, so that clients come back to what holds now. A view
 * is forgotten when too many others were looked at since, but not while somebody watches.
 */
export class ExportApis {
  readonly #modules: ExportApisModules;
  readonly #factory: ExportResourceFactory;
  readonly #kept = new Map<string, Kept>();
  readonly #dependents = new Map<string, Set<Kept>>();
  readonly #stale = new Set<Kept>();

  constructor(modules: ExportApisModules) {
    this.#modules = modules;
    const { exports, schemas } = modules;
    // First of all: handlers are called in the order in which they came.
    const byIdentity = new ExportsByIdentity({ exports });
    this.byIdentity = byIdentity;
    this.#factory = new ExportResourceFactory({ exports, schemas, byIdentity });
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

  readonly byIdentity: ExportsByIdentity;

  /** Serves what there is of an export, nothing of one that does not exist, and holds on to it until the request is over. */
  async serve(key: ExportKey, serve: (set: ApiSet) => Promise<void>): Promise<void> {
    if (this.#kept.get(textOf(key))?.stale !== false) await this.#factory.prepare(key.cluster, key.name);
    const kept = this.#get(key);
    kept.requests += 1;
    try {
      await serve(kept.set);
    } finally {
      kept.requests -= 1;
    }
  }

  #get(key: ExportKey): Kept {
    const text = textOf(key);
    let kept = this.#kept.get(text);
    if (kept === undefined) {
      kept = { key, set: nothing, dependencies: new Set(), served: new Map(), stale: true, requests: 0 };
      this.#forgetOldest();
    } else this.#kept.delete(text);
    this.#kept.set(text, kept);
    if (kept.stale) this.#make(kept);
    return kept;
  }

  #make(kept: Kept): void {
    const { resources, dependencies } = this.#factory.of(kept.key.cluster, kept.key.name);
    const before = kept.served;
    const served = new Map<string, Served>();
    for (const resource of resources) {
      const name = servedName(resource);
      const known = before.get(name);
      served.set(name, known?.fingerprint === resource.fingerprint ? known : this.#serve(kept.key, resource));
    }
    this.#follow(kept, dependencies);
    kept.served = served;
    kept.set = new ApiSet(
      served
        .values()
        .map(({ resource }) => resource)
        .toArray(),
    );
    kept.stale = false;
    this.#stale.delete(kept);
    for (const [name, { retirement }] of before) if (served.get(name)?.retirement !== retirement) retirement.abort();
  }

  #serve(key: ExportKey, resource: ExportResource): Served {
    const retirement = new AbortController();
    return {
      fingerprint: resource.fingerprint,
      resource: exportedResource(key, resource, retirement.signal, this.#modules),
      retirement,
    };
  }

  #follow(kept: Kept, dependencies: ReadonlySet<string>): void {
    for (const gone of kept.dependencies.difference(dependencies)) this.#unfollow(kept, gone);
    for (const dependency of dependencies) {
      const dependents = this.#dependents.get(dependency);
      if (dependents === undefined) this.#dependents.set(dependency, new Set([kept]));
      else dependents.add(kept);
    }
    kept.dependencies = dependencies;
  }

  #unfollow(kept: Kept, dependency: string): void {
    const dependents = this.#dependents.get(dependency);
    if (dependents?.delete(kept) === true && dependents.size === 0) this.#dependents.delete(dependency);
  }

  #changed(dependencies: readonly string[]): void {
    for (const dependency of dependencies)
      for (const kept of this.#dependents.get(dependency) ?? []) {
        kept.stale = true;
        if (this.#stale.size === 0) queueMicrotask(() => void this.#refresh());
        this.#stale.add(kept);
      }
  }

  async #refresh(): Promise<void> {
    for (const kept of this.#stale) {
      await this.#factory.prepare(kept.key.cluster, kept.key.name);
      // A request may have been first.
      if (this.#stale.has(kept)) this.#make(kept);
    }
  }

  #forgetOldest(): void {
    if (this.#kept.size < maxKept) return;
    for (const [text, kept] of this.#kept) {
      if (kept.requests > 0) continue;
      this.#kept.delete(text);
      this.#stale.delete(kept);
      for (const dependency of kept.dependencies) this.#unfollow(kept, dependency);
      return;
    }
  }
}

const textOf = ({ cluster, name }: ExportKey): string => `${cluster}/${name}`;
const nothing = new ApiSet([]);
const servedName = ({ definition: { group, version, resource } }: ExportResource): string =>
  `${group}/${version}/${resource}`;

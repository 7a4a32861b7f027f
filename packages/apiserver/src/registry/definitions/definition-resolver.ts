import { createHash } from 'node:crypto';
import { compareBytewise, statusErrors, type LogicalClusterName } from '@multiplane/apimachinery';
import { boundDefinitionsCluster as boundDefinitionsName, type ResourceDefinition } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { WatchCache } from '@multiplane/storage';
import {
  isBoundAsVirtual,
  noBoundApis,
  noExportedApis,
  type BoundApi,
  type BoundApis,
  type ExportedApis,
} from '../../api-sharing/bound-apis.ts';
import { VirtualDefinitions } from '../../api-sharing/virtual-definitions.ts';
import { WeightedCache } from '../../weighted-cache.ts';
import type { ObjectReader } from '../store/object-reader.ts';
import { BuiltInDefinitions } from './built-in-definitions.ts';
import { definitionName } from './definition-name.ts';
import { metadataOnlyDefinition } from './metadata-only-definition.ts';
import { ReplacementListeners } from './replacement-listeners.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { StoredDefinitions, type DefinitionsOf, type StoredDefinition } from './stored-definitions.ts';
import { TerminatingResources } from './terminating-resources.ts';
import { UnboundDefinitions } from './unbound-definitions.ts';

/** Logical clusters whose served APIs are kept. */
const maxClusters = 4096;
/** Up to this number definitions are prepared synchronously, more of them in time slices. */
const maxSynchronousDefinitions = 20;
/** Different lists of definitions that are kept for the logical clusters that serve the same. */
const maxLists = 512;

export interface DefinitionResolverModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly builtIn: readonly ResourceDefinition[];
  readonly definitionsOf: DefinitionsOf;
  /** Absent: no APIs are bound. */
  readonly bindings?: BoundApis | undefined;
  /** Absent: no APIs are exported. */
  readonly exports?: ExportedApis | undefined;
}

/** The APIs that a logical cluster serves. */
interface ClusterApis {
  readonly hash: string;
  readonly definitions: readonly ResourceDefinition[];
  /**
   * Bound resources with the definitions that they had when this was computed (undefined: not available), and the way in
   * which the export provided them.
   */
  readonly bound: readonly (readonly [BoundApi, StoredDefinition | undefined, string])[];
  /** The {@link DefinitionResolver} state in which this was last found current. */
  checkedState: number;
}

/**
 * Resolves what each logical cluster serves: built-in kinds, then the resources of its APIBindings, then its
 * CustomResourceDefinitions; of equal names the first wins.
 *
 * A bound resource is the definition of its APIResourceSchema, which is stored in `system:bound-crds` and shared by all
 * bindings, under the identity of the export: objects of different identities are stored separately even if they share a
 * schema. A change of a binding or a schema computes nothing; it only drops what is kept for the logical cluster, which is
 * computed again for the next request. Logical clusters that serve the same APIs share documents by their hash. The APIs of
 * clusters with bindings remember the definitions that they were computed from, and are checked again after one of these
 * changed.
 */
export class DefinitionResolver implements ResourceResolver {
  readonly #builtIn: BuiltInDefinitions;
  readonly #stored: StoredDefinitions;
  readonly #bindings: BoundApis;
  readonly #exports: ExportedApis;
  readonly #unbound: UnboundDefinitions;
  readonly #terminating = new TerminatingResources();
  readonly #virtual = new VirtualDefinitions();
  readonly #listeners = new ReplacementListeners({
    isStillServed: (cluster, definition) => this.#isStillServed(cluster, definition),
  });
  readonly #clusters = new Map<LogicalClusterName, ClusterApis>();
  /** By hash, for logical clusters without CustomResourceDefinitions of their own. */
  readonly #lists = new WeightedCache<readonly ResourceDefinition[]>(maxLists);
  /** The number of changes of bound definitions. */
  #boundState = 0;
  #unsubscribe: (() => void) | undefined;

  constructor(modules: DefinitionResolverModules) {
    const { builtIn: definitions, bindings = noBoundApis, exports = noExportedApis, definitionsOf } = modules;
    this.#bindings = bindings;
    this.#exports = exports;
    this.#unbound = new UnboundDefinitions({ definitionsOf });
    this.#builtIn = new BuiltInDefinitions({ definitions, bindings, exports, terminating: this.#terminating });
    this.#stored = new StoredDefinitions({ ...modules, onChange: (cluster) => this.#definitionsChanged(cluster) });
  }

  /** Subscribes to changes; requires a loaded cache, and an index of bindings that is subscribed already. */
  start(): void {
    this.#stored.start();
    this.#unsubscribe = this.#bindings.subscribe((cluster) => this.#clusterChanged(cluster));
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#stored.stop();
  }

  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
    identity?: string,
  ): ResourceDefinition | undefined {
    const builtIn = this.#builtIn.get(cluster, group, version, resource, identity);
    if (builtIn !== undefined) return builtIn;
    if (cluster === '*') {
      return identity === undefined
        ? this.#inAllClusters(group, version, resource)
        : this.#ofIdentity(identity, group, version, resource);
    }
    const api = this.#bindings.boundResource(cluster, group, resource);
    if (api !== undefined && (identity === undefined || identity === api.bound.schema.identityHash)) {
      const definition = this.#definitionOf(api);
      if (definition === undefined) {
        throw statusErrors.serviceUnavailable(`${definitionName(group, resource)} is currently unavailable`);
      }
      if (this.#isWithoutExport(api)) throw withoutExport(api, this.#exports.isSynced ? 0 : retryAfterSeconds);
      return this.#servedVersions(api, definition).find((one) => one.version === version);
    }
    if (identity !== undefined) return undefined;
    return this.#stored
      .get(cluster, definitionName(group, resource))
      ?.served(undefined)
      .find((definition) => definition.version === version);
  }

  list(cluster: LogicalClusterName): readonly ResourceDefinition[] {
    return this.#clusterApis(cluster).definitions;
  }

  discoveryHash(cluster: LogicalClusterName): string {
    return this.#clusterApis(cluster).hash;
  }

  prepare(cluster: LogicalClusterName): Promise<void> | undefined {
    const known = this.#clusters.get(cluster);
    if (known !== undefined && this.#isCurrent(known)) return undefined;
    const names = this.#stored.names(cluster);
    const bound = [...this.#bindings.boundResources(cluster)];
    return names.length + bound.length < maxSynchronousDefinitions
      ? undefined
      : this.#prepareAll(cluster, names, bound);
  }

  /** Prepares each definition that still exists when its time slice comes; later changes are left to the next request. */
  async #prepareAll(cluster: LogicalClusterName, names: readonly string[], bound: readonly BoundApi[]): Promise<void> {
    const slices = timeSlices(cluster);
    const serve = (definition: StoredDefinition | undefined, identity?: string): void => {
      if (definition?.established === true) definition.served(identity);
    };
    for (const name of names) {
      serve(this.#stored.get(cluster, name));
      if (slices.isExceeded) await slices.yield();
    }
    for (const api of bound) {
      serve(this.#definitionOf(api), api.bound.schema.identityHash);
      if (slices.isExceeded) await slices.yield();
    }
  }

  isBuiltInGroup(group: string): boolean {
    return this.#builtIn.isGroup(group);
  }

  /**
   * As {@link ResourceResolver.whenReplaced}: the resource is no longer bound, or by another schema. A change of the
   * definition itself is signalled by its `retired` instead.
   */
  whenReplaced(cluster: LogicalClusterName, definition: ResourceDefinition, onReplaced: () => void): () => void {
    return this.#listeners.add(cluster, definition, onReplaced);
  }

  /** A resource over all logical clusters, whose schemas may differ: the endpoints only serve metadata of it. */
  #inAllClusters(group: string, version: string, resource: string): ResourceDefinition | undefined {
    const example = this.#stored.example(definitionName(group, resource));
    return example === undefined ? undefined : metadataOnlyDefinition(group, version, resource, example);
  }

  /**
   * A resource of one identity over all logical clusters: by the schema that the export offers now, and if the export was
   * deleted or no longer offers the resource, by the schema that most bindings have. The resource need not be bound yet.
   */
  #ofIdentity(identity: string, group: string, version: string, resource: string): ResourceDefinition | undefined {
    for (const versions of this.#candidates(identity, group, resource)) {
      const found = versions.find((definition) => definition.version === version);
      if (found === undefined) continue;
      const virtual = this.#exports.virtualStorageOf(identity, group, resource);
      if (virtual === undefined && this.#bindings.isVirtual(identity, group, resource))
        throw statusErrors.serviceUnavailable(
          `the virtual resource ${definitionName(group, resource)} is unavailable: no APIExport with its identity offers it`,
          this.#exports.isSynced ? 0 : retryAfterSeconds,
        );
      return virtual === undefined ? found : this.#virtual.of(found, virtual);
    }
    return undefined;
  }

  *#candidates(identity: string, group: string, resource: string): Generator<readonly ResourceDefinition[]> {
    const offered = this.#exports.schemaOf(identity, group, resource);
    if (offered !== undefined) {
      const stored = this.#stored.get(boundDefinitionsCluster, offered.metadata.uid ?? '');
      yield stored?.established === true ? stored.served(identity) : this.#unbound.versions(offered, identity);
    }
    for (const uid of this.#bindings.schemasOf(identity, group, resource)) {
      yield this.#stored.get(boundDefinitionsCluster, uid)?.served(identity) ?? [];
    }
  }

  /**
   * The current definition of a bound resource. The binding names a schema. If the export offers another schema with the
   * same names and scope by now, that one is used before the binding controller has updated the binding: a change of an
   * export takes effect for all its consumers with the next request, not after a write to each binding.
   */
  #definitionOf(api: BoundApi): StoredDefinition | undefined {
    const { binding, bound } = api;
    const definition = this.#stored.get(boundDefinitionsCluster, bound.schema.UID);
    if (binding.deleting || definition === undefined) return definition;
    const offered = this.#exports.offeredSchema(api);
    if (offered === undefined || offered === bound.schema.UID) return definition;
    const next = this.#stored.get(boundDefinitionsCluster, offered);
    return next?.established === true && next.names === definition.names ? next : definition;
  }

  /**
   * The resource was bound as a virtual one, and its export is deleted, not known yet (after a start without the cache
   * server), or no longer offers it: there is nowhere to read its objects, and in the consumer there are none.
   */
  #isWithoutExport(api: BoundApi): boolean {
    return isBoundAsVirtual(api.bound) && this.#exports.virtualStorage(api) === undefined;
  }

  /** The versions of a bound resource in the logical cluster of its binding. */
  #servedVersions(api: BoundApi, definition: StoredDefinition): readonly ResourceDefinition[] {
    const { binding, bound } = api;
    const virtual = this.#exports.virtualStorage(api);
    const stored = definition.served(bound.schema.identityHash);
    const served = virtual === undefined ? stored : stored.map((one) => this.#virtual.of(one, virtual));
    return binding.deleting ? served.map(this.#terminating.of) : served;
  }

  #clusterApis(cluster: LogicalClusterName): ClusterApis {
    const known = this.#clusters.get(cluster);
    if (known !== undefined && this.#isCurrent(known)) return known;
    const apis = this.#computeApis(cluster);
    this.#clusters.delete(cluster);
    this.#clusters.set(cluster, apis);
    if (this.#clusters.size > maxClusters)
      this.#clusters.delete(this.#clusters.keys().next().value as LogicalClusterName);
    return apis;
  }

  /** Sorted by resource name, so that the hash does not depend on the names of the bindings. */
  #boundByName(cluster: LogicalClusterName): (readonly [string, BoundApi])[] {
    return Array.from(
      this.#bindings.boundResources(cluster),
      (api) => [definitionName(api.bound.group, api.bound.resource), api] as const,
    ).sort(([a], [b]) => compareBytewise(a, b));
  }

  /** Equal texts: the export provides the resource in the same way. Empty: it is stored with its consumers. */
  #storageText(api: BoundApi): string {
    const virtual = this.#exports.virtualStorage(api);
    if (virtual !== undefined) return JSON.stringify(virtual);
    return isBoundAsVirtual(api.bound) ? 'without export' : '';
  }

  #isCurrent(apis: ClusterApis): boolean {
    const state = this.#state;
    if (apis.checkedState === state) return true;
    for (const [api, definition, storage] of apis.bound) {
      if (this.#definitionOf(api)?.fingerprint !== definition?.fingerprint) return false;
      if (this.#storageText(api) !== storage) return false;
    }
    apis.checkedState = state;
    return true;
  }

  #computeApis(cluster: LogicalClusterName): ClusterApis {
    const builtIn = this.#builtIn.served(cluster);
    const definitions: ResourceDefinition[] = [];
    const taken = new Set<string>();
    const isTaken = (name: string): boolean => taken.has(name) || builtIn.names.has(name);
    const hash = createHash('sha256').update(builtIn.hash);
    const checkedState = this.#state;
    const bound: [BoundApi, StoredDefinition | undefined, string][] = [];
    for (const [name, api] of this.#boundByName(cluster)) {
      const { schema } = api.bound;
      if (isTaken(name)) continue;
      const definition = this.#definitionOf(api);
      const storage = this.#storageText(api);
      bound.push([api, definition, storage]);
      // A bound resource hides a local definition of the same name even while its own definition is not available.
      taken.add(name);
      if (definition?.established !== true) continue;
      const state = api.binding.deleting ? 'deleting' : '';
      hash.update(`\n${name} ${schema.identityHash} ${state} ${storage} ${definition.fingerprint}`);
      definitions.push(...this.#servedVersions(api, definition));
    }
    let hasLocal = false;
    for (const [name, definition] of this.#stored.list(cluster)) {
      hasLocal = true;
      if (!definition.established || isTaken(name)) continue;
      hash.update(`\n${name} ${definition.fingerprint}`);
      definitions.push(...definition.served(undefined));
    }
    if (definitions.length === 0) return { ...builtIn, bound, checkedState };
    const text = hash.digest('hex').slice(0, 32);
    const all = (): readonly ResourceDefinition[] => [...builtIn.definitions, ...definitions];
    // Bound definitions are shared objects. Equal local definitions of different logical clusters are not.
    return { hash: text, definitions: hasLocal ? all() : this.#lists.get(text, all), bound, checkedState };
  }

  /** Changes with everything that the APIs of clusters with bindings depend on outside of their own cluster. */
  get #state(): number {
    return this.#boundState + this.#exports.state;
  }

  #definitionsChanged(cluster: LogicalClusterName | undefined): void {
    if (cluster === undefined || cluster === boundDefinitionsCluster) {
      this.#boundState++;
      this.#unbound.dropBound((uid) => this.#stored.get(boundDefinitionsCluster, uid)?.established === true);
    }
    if (cluster === undefined) {
      this.#clusters.clear();
      this.#listeners.checkAll();
    } else {
      this.#clusterChanged(cluster);
    }
  }

  #clusterChanged(cluster: LogicalClusterName): void {
    this.#clusters.delete(cluster);
    this.#listeners.check(cluster);
  }

  /** Whether requests still reach the same objects by the same schema; a change of the verbs does not matter. */
  #isStillServed(cluster: LogicalClusterName, definition: ResourceDefinition): boolean {
    const { group, version, resource, bound, retired, storage, virtual } = definition;
    try {
      const now = this.resolve(cluster, group, version, resource);
      return (
        now !== undefined &&
        now.retired === retired &&
        now.storage?.prefix === storage?.prefix &&
        now.bound?.identity === bound?.identity &&
        JSON.stringify(now.virtual) === JSON.stringify(virtual)
      );
    } catch {
      // The resource is bound, but its definition is not available at the moment. Of a virtual one the export may be gone.
      return virtual === undefined;
    }
  }
}

const boundDefinitionsCluster = boundDefinitionsName as LogicalClusterName;

/** Interval after which clients of a virtual resource try again whose export is not known yet. An export that is gone stays gone. */
const retryAfterSeconds = 5;

function withoutExport({ binding, bound }: BoundApi, retryAfter: number): Error {
  const { exportPath, exportCluster = '', exportName, name } = binding;
  return statusErrors.serviceUnavailable(
    `the virtual resource ${definitionName(bound.group, bound.resource)} is unavailable: APIExport ${exportPath ?? exportCluster}:${exportName} ` +
      `does not exist or no longer offers it; please contact its owner, or delete APIBinding ${name}`,
    retryAfter,
  );
}

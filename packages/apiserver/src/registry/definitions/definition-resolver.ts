import { createHash } from 'node:crypto';
import { compareBytewise, statusErrors, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  boundDefinitionsCluster as boundDefinitionsName,
  definitionOfSchema,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import { slicesOfTurns } from '@multiplane/component-base';
import type { WatchCache } from '@multiplane/storage';
import {
  established,
  noBoundApis,
  noExportedApis,
  type BoundApi,
  type BoundApis,
  type ExportedApis,
} from '../api-sharing/bound-apis.ts';
import { SurfaceCache } from '../surface-cache.ts';
import { BuiltInDefinitions } from './built-in-definitions.ts';
import { metadataOnlyDefinition } from './metadata-only-definition.ts';
import type { ObjectReader } from './object-reader.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { definitionName } from './definition-name.ts';
import { StoredDefinitions, type DefinitionsOf, type StoredDefinition } from './stored-definitions.ts';
import { TerminatingResources } from './terminating-resources.ts';

/** Logical clusters whose discovery was asked for lately. */
const maxSurfaces = 4096;
/** So many are made at once when somebody looks; more of them with pauses. */
const fewDefinitions = 20;
/** Different surfaces of these. */
const maxDifferent = 512;
/** Exported resources that somebody watches over all clusters before anybody has bound them. */
const maxUnbound = 256;

export interface DefinitionResolverModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly builtIn: readonly ResourceDefinition[];
  readonly definitionsOf: DefinitionsOf;
  /** Absent: nothing is bound. */
  readonly bindings?: BoundApis | undefined;
  /** Absent: nothing is exported. */
  readonly exports?: ExportedApis | undefined;
}

interface Surface {
  readonly hash: string;
  readonly definitions: readonly ResourceDefinition[];
  /** Bound resources with their definitions when the surface was made; undefined where there was none. */
  readonly bound: readonly (readonly [BoundApi, StoredDefinition | undefined])[];
  /** State of all bound definitions and exports in which this was last found right. */
  checked: number;
}

/** What is exported and bound by nobody on this shard, as the views of its identity show it. */
interface Unbound {
  readonly uid: string;
  readonly definitions: readonly ResourceDefinition[];
  readonly retirement: AbortController;
}

/** A watch that wants to know when its resource is no longer what it was. */
interface Follower {
  readonly definition: ResourceDefinition;
  readonly gone: () => void;
}

/**
 * What each logical cluster serves (C3.4): the kinds compiled in, then what its bindings bring, then the
 * CustomResourceDefinitions that lie in it; of equal names the first counts.
 *
 * A bound resource is the definition made of its schema, which lies in `system:bound-crds` and is shared by all who bind
 * it, seen under the identity of the export: objects of different identities lie apart, whatever schema they share.
 * Nothing is computed when a binding or a schema changes but that what is known of the logical cluster is forgotten:
 * whoever asks next makes it anew, and equal surfaces share their documents by their hash. Surfaces with bound resources
 * remember the definitions they were made of, and look at them again after one of these changed.
 */
export class DefinitionResolver implements ResourceResolver {
  readonly #builtIn: BuiltInDefinitions;
  readonly #stored: StoredDefinitions;
  readonly #bindings: BoundApis;
  readonly #exports: ExportedApis;

  readonly #definitionsOf: DefinitionsOf;
  readonly #terminating = new TerminatingResources();
  readonly #surfaces = new Map<LogicalClusterName, Surface>();
  /** Lists of equal surfaces without definitions of their own. */
  readonly #lists = new SurfaceCache<readonly ResourceDefinition[]>(maxDifferent);
  /** By uid of the schema and identity. */
  readonly #unbound = new Map<string, Unbound>();
  readonly #followers = new Map<LogicalClusterName, Set<Follower>>();
  /** Counts the changes of bound definitions. */
  #boundState = 0;
  #unsubscribe: (() => void) | undefined;

  constructor(_options: Record<string, never>, modules: DefinitionResolverModules) {
    const { builtIn, bindings = noBoundApis, exports = noExportedApis, definitionsOf } = modules;
    this.#bindings = bindings;
    this.#exports = exports;

    this.#definitionsOf = definitionsOf;
    this.#builtIn = new BuiltInDefinitions(
      {},
      { definitions: builtIn, bindings, exports, terminating: this.#terminating },
    );
    this.#stored = new StoredDefinitions({}, { ...modules, onChange: (cluster) => this.#definitionsChanged(cluster) });
  }

  /** Begins to follow changes; needs a cache that is loaded, and bindings that are followed already. */
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
        ? this.#everywhere(group, version, resource)
        : this.#ofIdentity(identity, group, version, resource);
    }
    const api = this.#bindings.boundResource(cluster, group, resource);
    if (api !== undefined && (identity === undefined || identity === api.bound.schema.identityHash)) {
      const definition = this.#definitionOf(api);
      if (definition === undefined) {
        throw statusErrors.serviceUnavailable(`${definitionName(group, resource)} is currently unavailable`);
      }
      return this.#servedAs(api, definition).find((one) => one.version === version);
    }
    if (identity !== undefined) return undefined;
    return this.#stored
      .get(cluster, definitionName(group, resource))
      ?.served(undefined)
      .find((definition) => definition.version === version);
  }

  list(cluster: LogicalClusterName): readonly ResourceDefinition[] {
    return this.#surface(cluster).definitions;
  }

  surfaceHash(cluster: LogicalClusterName): string {
    return this.#surface(cluster).hash;
  }

  prepare(cluster: LogicalClusterName): Promise<void> | undefined {
    const known = this.#surfaces.get(cluster);
    if (known !== undefined && this.#isCurrent(known)) return undefined;
    const names = this.#stored.names(cluster);
    const bound = [...this.#bindings.boundResources(cluster)];
    return names.length + bound.length < fewDefinitions ? undefined : this.#prepareAll(cluster, names, bound);
  }

  /** Makes what is still there when its turn comes; what changes meanwhile is made by whoever looks. */
  async #prepareAll(cluster: LogicalClusterName, names: readonly string[], bound: readonly BoundApi[]): Promise<void> {
    const slices = slicesOfTurns();
    const serve = (definition: StoredDefinition | undefined, identity?: string): void => {
      if (definition?.established === true) definition.served(identity);
    };
    for (const name of names) {
      serve(this.#stored.get(cluster, name));
      if (slices.over) await slices.next();
    }
    for (const api of bound) {
      serve(this.#definitionOf(api), api.bound.schema.identityHash);
      if (slices.over) await slices.next();
    }
  }

  isBuiltInGroup(group: string): boolean {
    return this.#builtIn.isGroup(group);
  }

  /**
   * Calls back once when the logical cluster no longer serves the resource by this definition, for the resource is not
   * bound any more, or by another schema. That the definition itself changes is told by its own signal.
   */
  whenReplaced(cluster: LogicalClusterName, definition: ResourceDefinition, gone: () => void): () => void {
    // It may have happened since the definition was found.
    if (!this.#isStillServed(cluster, definition)) {
      gone();
      return () => undefined;
    }
    const follower: Follower = { definition, gone };
    let followers = this.#followers.get(cluster);
    if (followers === undefined) this.#followers.set(cluster, (followers = new Set()));
    followers.add(follower);
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(cluster) === followers) this.#followers.delete(cluster);
    };
  }

  /**
   * Objects of one name may be anything in different clusters: what all objects have in common can still be asked for
   * over all of them, which the endpoints see to.
   */
  #everywhere(group: string, version: string, resource: string): ResourceDefinition | undefined {
    const example = this.#stored.example(definitionName(group, resource));
    return example === undefined ? undefined : metadataOnlyDefinition(group, version, resource, example);
  }

  /**
   * The objects of one identity, wherever they are bound: as the export offers them now, and when it is gone or has let
   * the resource go, as most of its bindings have them. The view may be opened before anybody has bound the resource.
   */
  #ofIdentity(identity: string, group: string, version: string, resource: string): ResourceDefinition | undefined {
    const offered = this.#exports.schemaOf(identity, group, resource);
    const candidates = function* (this: DefinitionResolver): Generator<readonly ResourceDefinition[]> {
      if (offered !== undefined) {
        const stored = this.#stored.get(boundDefinitionsCluster, offered.metadata.uid ?? '');
        yield stored?.established === true ? stored.served(identity) : this.#unboundVersions(offered, identity);
      }
      for (const uid of this.#bindings.schemasOf(identity, group, resource)) {
        yield this.#stored.get(boundDefinitionsCluster, uid)?.served(identity) ?? [];
      }
    }.call(this);
    for (const versions of candidates) {
      const found = versions.find((definition) => definition.version === version);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #unboundVersions(schema: DeepReadonly<APIResourceSchema>, identity: string): readonly ResourceDefinition[] {
    const { uid = '' } = schema.metadata;
    const key = `${uid}/${identity}`;
    let unbound = this.#unbound.get(key);
    if (unbound === undefined) {
      const retirement = new AbortController();
      const definitions = this.#definitionsOf(established(definitionOfSchema(schema)), retirement.signal, identity);
      unbound = { uid, definitions, retirement };
      this.#unbound.set(key, unbound);
      if (this.#unbound.size > maxUnbound) this.#unbound.delete(this.#unbound.keys().next().value as string);
    }
    return unbound.definitions;
  }

  /**
   * Somebody has bound what was only exported: from now on its definition counts. Of a single version that is the same
   * thing; between several there may be conversions, so watches begin again.
   */
  #forgetUnbound(): void {
    for (const [key, { uid, definitions, retirement }] of this.#unbound) {
      if (this.#stored.get(boundDefinitionsCluster, uid)?.established !== true) continue;
      this.#unbound.delete(key);
      if (definitions.length > 1) retirement.abort();
    }
  }

  /**
   * What a bound resource is now. The binding tells of which schema it is; an export that has gone over to another one of
   * the same names and scope, which nothing could refuse, is followed at once, so that a change reaches a thousand
   * consumers when they look and not when a controller has written to each of them.
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

  /** The versions of a bound resource as they are in the logical cluster of the binding. */
  #servedAs({ binding, bound }: BoundApi, definition: StoredDefinition): readonly ResourceDefinition[] {
    const served = definition.served(bound.schema.identityHash);
    return binding.deleting ? served.map(this.#terminating.of) : served;
  }

  #surface(cluster: LogicalClusterName): Surface {
    const known = this.#surfaces.get(cluster);
    if (known !== undefined && this.#isCurrent(known)) return known;
    const surface = this.#makeSurface(cluster);
    this.#surfaces.delete(cluster);
    this.#surfaces.set(cluster, surface);
    if (this.#surfaces.size > maxSurfaces)
      this.#surfaces.delete(this.#surfaces.keys().next().value as LogicalClusterName);
    return surface;
  }

  /** In the order of their names: however bindings are called, equal surfaces are to have equal texts. */
  #boundByName(cluster: LogicalClusterName): (readonly [string, BoundApi])[] {
    return Array.from(
      this.#bindings.boundResources(cluster),
      (api) => [definitionName(api.bound.group, api.bound.resource), api] as const,
    ).sort(([a], [b]) => compareBytewise(a, b));
  }

  #isCurrent(surface: Surface): boolean {
    const state = this.#state;
    if (surface.checked === state) return true;
    for (const [api, definition] of surface.bound) {
      if (this.#definitionOf(api)?.fingerprint !== definition?.fingerprint) return false;
    }
    surface.checked = state;
    return true;
  }

  #makeSurface(cluster: LogicalClusterName): Surface {
    const builtIn = this.#builtIn.surface(cluster);
    const definitions: ResourceDefinition[] = [];
    const taken = new Set<string>();
    const isTaken = (name: string): boolean => taken.has(name) || builtIn.names.has(name);
    const hash = createHash('sha256').update(builtIn.hash);
    const checked = this.#state;
    const bound: [BoundApi, StoredDefinition | undefined][] = [];
    for (const [name, api] of this.#boundByName(cluster)) {
      const { schema } = api.bound;
      if (isTaken(name)) continue;
      const definition = this.#definitionOf(api);
      bound.push([api, definition]);
      // It hides a local definition of its name even while it cannot be shown itself.
      taken.add(name);
      if (definition?.established !== true) continue;
      const state = api.binding.deleting ? 'deleting' : '';
      hash.update(`\n${name} ${schema.identityHash} ${state} ${definition.fingerprint}`);
      definitions.push(...this.#servedAs(api, definition));
    }
    let own = false;
    for (const [name, definition] of this.#stored.list(cluster)) {
      own = true;
      if (!definition.established || isTaken(name)) continue;
      hash.update(`\n${name} ${definition.fingerprint}`);
      definitions.push(...definition.served(undefined));
    }
    if (definitions.length === 0) return { ...builtIn, bound, checked };
    const text = hash.digest('hex').slice(0, 32);
    const all = (): readonly ResourceDefinition[] => [...builtIn.definitions, ...definitions];
    // Equal definitions of different tenants are not the same; those that are bound are.
    return { hash: text, definitions: own ? all() : this.#lists.get(text, all), bound, checked };
  }

  /** Changes with everything that surfaces with bound resources are made of, besides what lies in their own cluster. */
  get #state(): number {
    return this.#boundState + this.#exports.state;
  }

  #definitionsChanged(cluster: LogicalClusterName | undefined): void {
    if (cluster === undefined || cluster === boundDefinitionsCluster) {
      this.#boundState++;
      this.#forgetUnbound();
    }
    if (cluster === undefined) {
      this.#surfaces.clear();
      for (const one of Array.from(this.#followers.keys())) this.#tellFollowers(one);
    } else {
      this.#clusterChanged(cluster);
    }
  }

  #clusterChanged(cluster: LogicalClusterName): void {
    this.#surfaces.delete(cluster);
    this.#tellFollowers(cluster);
  }

  #tellFollowers(cluster: LogicalClusterName): void {
    for (const follower of Array.from(this.#followers.get(cluster) ?? [])) {
      if (this.#isStillServed(cluster, follower.definition)) continue;
      this.#followers.get(cluster)?.delete(follower);
      follower.gone();
    }
    if (this.#followers.get(cluster)?.size === 0) this.#followers.delete(cluster);
  }

  /** Whether requests still mean the same objects by the same schema; that less may be done with them does not matter. */
  #isStillServed(cluster: LogicalClusterName, definition: ResourceDefinition): boolean {
    const { group, version, resource, bound, retired, storage } = definition;
    try {
      const now = this.resolve(cluster, group, version, resource);
      return (
        now !== undefined &&
        now.retired === retired &&
        now.storage?.prefix === storage?.prefix &&
        now.bound?.identity === bound?.identity
      );
    } catch {
      // It is still bound, and will be shown again when its definition is back.
      return true;
    }
  }
}

const boundDefinitionsCluster = boundDefinitionsName as LogicalClusterName;

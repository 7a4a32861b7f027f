import { createHash } from 'node:crypto';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { BoundApi, BoundApis, ExportedApis } from '../api-sharing/bound-apis.ts';
import { definitionName } from './definition-name.ts';
import type { TerminatingResources } from './terminating-resources.ts';

/** Where the exports lie that offer kinds of kcp itself (C12.2). */
const exportingCluster = 'root';

export interface BuiltInDefinitionsModules {
  readonly definitions: readonly ResourceDefinition[];
  readonly bindings: BoundApis;
  readonly exports: ExportedApis;
  readonly terminating: TerminatingResources;
}

/** Kinds compiled in, as a logical cluster serves them. */
export interface BuiltInSurface {
  /** Equal for equal lists. */
  readonly hash: string;
  /** In a fixed order. */
  readonly definitions: readonly ResourceDefinition[];
  /** `<plural>.<group>` of all of them. */
  readonly names: ReadonlySet<string>;
}

/**
 * The kinds that are compiled in. Most are served everywhere; some are what an export of `root` offers, and are served
 * where a binding to it has them (C12.2), everywhere for requests over all clusters and in the clusters of the system.
 */
export class BuiltInDefinitions {
  readonly #modules: BuiltInDefinitionsModules;
  readonly #byPath = new Map<string, ResourceDefinition>();
  readonly #groups = new Set<string>();
  /** Those that need a binding. */
  readonly #exported: readonly ResourceDefinition[];
  readonly #surfaces = new Map<string, BuiltInSurface>();

  constructor(_options: Record<string, never>, modules: BuiltInDefinitionsModules) {
    this.#modules = modules;
    const { definitions } = modules;
    for (const definition of definitions) {
      this.#byPath.set(pathKey(definition), definition);
      if (definition.origin === 'built-in') this.#groups.add(definition.group);
    }
    this.#exported = definitions.filter(({ exportedBy }) => exportedBy !== undefined);
  }

  isGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** What a path means in a logical cluster, or over all of them (`*`); with an identity: of what has that one. */
  get(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
    identity: string | undefined,
  ): ResourceDefinition | undefined {
    const definition = this.#byPath.get(pathKey({ group, version, resource }));
    if (definition === undefined) return undefined;
    const { exportedBy } = definition;
    // Kinds that nobody exports have no identity: who offers a kind of their name has nothing to do with their objects.
    if (
      identity !== undefined &&
      (exportedBy === undefined || (cluster === '*' && !this.#hasIdentity(exportedBy, identity)))
    )
      return undefined;
    return cluster === '*' ? definition : this.#in(cluster, definition, identity);
  }

  /** All of them that a logical cluster serves. Made once for all clusters that serve the same. */
  surface(cluster: LogicalClusterName): BuiltInSurface {
    const key = this.#keyOf(cluster);
    let surface = this.#surfaces.get(key);
    if (surface === undefined) {
      surface = this.#makeSurface(cluster);
      // There are a few combinations of what exports of `root` are bound, whatever the number of tenants.
      if (this.#surfaces.size < maxSurfaces) this.#surfaces.set(key, surface);
    }
    return surface;
  }

  #in(
    cluster: LogicalClusterName,
    definition: ResourceDefinition,
    identity: string | undefined,
  ): ResourceDefinition | undefined {
    const { exportedBy } = definition;
    if (exportedBy === undefined || isSystemCluster(cluster)) return definition;
    const api = this.#modules.bindings.boundResource(cluster, definition.group, definition.resource);
    if (api === undefined || !isOf(api, exportedBy)) return undefined;
    if (identity !== undefined && api.bound.schema.identityHash !== identity) return undefined;
    return api.binding.deleting ? this.#modules.terminating.of(definition) : definition;
  }

  #hasIdentity(exportName: string, identity: string): boolean {
    return this.#modules.exports
      .exportsOf(identity)
      .some(({ cluster, name }) => cluster === exportingCluster && name === exportName);
  }

  /** How each exported kind is served in a cluster. */
  #keyOf(cluster: LogicalClusterName): string {
    let key = '';
    for (const definition of this.#exported) {
      const served = this.#in(cluster, definition, undefined);
      key += served === undefined ? '/' : served === definition ? '/+' : '/-';
    }
    return key;
  }

  #makeSurface(cluster: LogicalClusterName): BuiltInSurface {
    const definitions: ResourceDefinition[] = [];
    for (const definition of this.#modules.definitions) {
      const served = this.#in(cluster, definition, undefined);
      if (served !== undefined) definitions.push(served);
    }
    const keys = definitions.map((one) => `${pathKey(one)}${one.terminating === true ? '-' : ''}`).join('\n');
    return {
      hash: createHash('sha256').update(keys).digest('hex').slice(0, 32),
      definitions,
      names: new Set(definitions.map(({ group, resource }) => definitionName(group, resource))),
    };
  }
}

const maxSurfaces = 256;

const isOf = ({ binding }: BoundApi, exportName: string): boolean =>
  binding.exportCluster === exportingCluster && binding.exportName === exportName;

/** What the server keeps for itself (C1.1). */
const isSystemCluster = (cluster: LogicalClusterName): boolean => cluster.startsWith('system:');

const pathKey = ({ group, version, resource }: { group: string; version: string; resource: string }): string =>
  `${group}/${version}/${resource}`;

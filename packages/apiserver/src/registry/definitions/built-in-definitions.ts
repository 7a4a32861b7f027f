import { createHash } from 'node:crypto';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { BoundApi, BoundApis, ExportedApis } from '../../api-sharing/bound-apis.ts';
import { definitionName } from './definition-name.ts';
import type { TerminatingResources } from './terminating-resources.ts';

/** The logical cluster of the APIExports that offer kcp's own kinds. */
const exportingCluster = 'root';

export interface BuiltInDefinitionsModules {
  readonly definitions: readonly ResourceDefinition[];
  readonly bindings: BoundApis;
  readonly exports: ExportedApis;
  readonly terminating: TerminatingResources;
}

/** The compiled-in kinds that a logical cluster serves. */
export interface BuiltInApis {
  /** Equal hashes mean equal lists. */
  readonly hash: string;
  /** In a fixed order. */
  readonly definitions: readonly ResourceDefinition[];
  /** `<plural>.<group>` of all definitions. */
  readonly names: ReadonlySet<string>;
}

/**
 * The compiled-in kinds. Most are served in every logical cluster. kcp's own kinds that an APIExport of `root` offers are
 * served in the logical clusters with a binding to that export, in system clusters, and over all logical clusters.
 */
export class BuiltInDefinitions {
  readonly #modules: BuiltInDefinitionsModules;
  readonly #byPath = new Map<string, ResourceDefinition>();
  readonly #groups = new Set<string>();
  /** Kinds that are served only with a binding. */
  readonly #exported: readonly ResourceDefinition[];
  readonly #byCombination = new Map<string, BuiltInApis>();

  constructor(modules: BuiltInDefinitionsModules) {
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

  /** The definition of a path in a logical cluster, or over all of them (`*`); with an identity: only if it has that one. */
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
    // Kinds without an export have no identity: an export of a kind of the same name has other objects.
    if (
      identity !== undefined &&
      (exportedBy === undefined || (cluster === '*' && !this.#hasIdentity(exportedBy, identity)))
    )
      return undefined;
    return cluster === '*' ? definition : this.#in(cluster, definition, identity);
  }

  /** All kinds that a logical cluster serves. Logical clusters that serve the same share one result. */
  served(cluster: LogicalClusterName): BuiltInApis {
    const key = this.#keyOf(cluster);
    let served = this.#byCombination.get(key);
    if (served === undefined) {
      served = this.#compute(cluster);
      // The number of combinations of bound exports of `root` is small, whatever the number of tenants.
      if (this.#byCombination.size < maxCombinations) this.#byCombination.set(key, served);
    }
    return served;
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

  /** Which exported kinds a cluster serves, and how. */
  #keyOf(cluster: LogicalClusterName): string {
    let key = '';
    for (const definition of this.#exported) {
      const served = this.#in(cluster, definition, undefined);
      key += served === undefined ? '/' : served === definition ? '/+' : '/-';
    }
    return key;
  }

  #compute(cluster: LogicalClusterName): BuiltInApis {
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

const maxCombinations = 256;

const isOf = ({ binding }: BoundApi, exportName: string): boolean =>
  binding.exportCluster === exportingCluster && binding.exportName === exportName;

/** Logical clusters of the server itself. */
const isSystemCluster = (cluster: LogicalClusterName): boolean => cluster.startsWith('system:');

const pathKey = ({ group, version, resource }: { group: string; version: string; resource: string }): string =>
  `${group}/${version}/${resource}`;

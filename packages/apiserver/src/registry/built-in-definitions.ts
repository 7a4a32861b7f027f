import { createHash } from 'node:crypto';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { BoundApi, BoundApis, ExportedApis } from '../api-sharing/bound-apis.ts';
import type { TerminatingResources } from './terminating-resources.ts';

/** Where the exports lie that offer kinds of kcp itself (C12.2). */
const exportingCluster = 'root';

export interface BuiltInDefinitionsModules {
  readonly definitions: readonly ResourceDefinition[];
  readonly bindings: BoundApis;
  readonly exports: ExportedApis;
  readonly terminating: TerminatingResources;
}

/**
 * The kinds that are compiled in. Most are served everywhere; some in one logical cluster alone; some are what an export
 * of `root` offers, and are served where a binding to it has them (C12.2), everywhere for requests over all clusters and
 * in the clusters of the system.
 */
export class BuiltInDefinitions {
  readonly #modules: BuiltInDefinitionsModules;
  readonly #byPath = new Map<string, ResourceDefinition>();
  readonly #groups = new Set<string>();
  readonly #exported: boolean;
  /** Of logical clusters where nothing but these kinds can differ. */
  readonly #hashes = new Map<string, string>();

  constructor(_options: Record<string, never>, modules: BuiltInDefinitionsModules) {
    this.#modules = modules;
    const { definitions } = modules;
    for (const definition of definitions) {
      this.#byPath.set(pathKey(definition), definition);
      if (definition.origin === 'built-in') this.#groups.add(definition.group);
    }
    this.#exported = definitions.some(({ exportedBy }) => exportedBy !== undefined);
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
    if (cluster === '*') {
      const isOther = exportedBy !== undefined && identity !== undefined && !this.#hasIdentity(exportedBy, identity);
      return isOther ? undefined : definition;
    }
    return this.#in(cluster, definition, identity);
  }

  /** All that a logical cluster serves, in a fixed order, and a text that tells equal lists. */
  surface(cluster: LogicalClusterName): { readonly hash: string; readonly definitions: ResourceDefinition[] } {
    const definitions: ResourceDefinition[] = [];
    for (const definition of this.#modules.definitions) {
      const served = this.#in(cluster, definition, undefined);
      if (served !== undefined) definitions.push(served);
    }
    return { hash: this.#hashOf(cluster, definitions), definitions };
  }

  #in(
    cluster: LogicalClusterName,
    definition: ResourceDefinition,
    identity: string | undefined,
  ): ResourceDefinition | undefined {
    const { onlyIn, exportedBy } = definition;
    if (onlyIn !== undefined && onlyIn !== cluster) return undefined;
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

  #hashOf(cluster: LogicalClusterName, definitions: readonly ResourceDefinition[]): string {
    const known = this.#exported ? undefined : this.#hashes.get(this.#placeOf(cluster));
    if (known !== undefined) return known;
    const keys = definitions.map((one) => `${pathKey(one)}${one.terminating === true ? '-' : ''}`).join('\n');
    let hash = this.#hashes.get(keys);
    if (hash === undefined) {
      hash = createHash('sha256').update(keys).digest('hex').slice(0, 32);
      // There are a few combinations of what exports of `root` are bound, whatever the number of tenants.
      if (this.#hashes.size < maxHashes) this.#hashes.set(this.#exported ? keys : this.#placeOf(cluster), hash);
    }
    return hash;
  }

  /** Clusters of the same place serve the same, unless bindings tell them apart. */
  #placeOf(cluster: LogicalClusterName): string {
    return this.#modules.definitions.some(({ onlyIn }) => onlyIn === cluster) ? cluster : '';
  }
}

const maxHashes = 256;

const isOf = ({ binding }: BoundApi, exportName: string): boolean =>
  binding.exportCluster === exportingCluster && binding.exportName === exportName;

/** What the server keeps for itself (C1.1). */
const isSystemCluster = (cluster: LogicalClusterName): boolean => cluster.startsWith('system:');

const pathKey = ({ group, version, resource }: { group: string; version: string; resource: string }): string =>
  `${group}/${version}/${resource}`;

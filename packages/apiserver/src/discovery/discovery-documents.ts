import { createHash } from 'node:crypto';
import { apiVersionOf, encodeJsonGo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { compareGroups, compareVersions } from './group-priorities.ts';
import { aggregatedResourceOf, apiResourcesOf, type ApiResource, type VirtualListing } from './resource-entries.ts';

/** A document and its ETag. */
export interface TaggedDocument {
  readonly bytes: Buffer;
  /** Quoted, as in the header. */
  readonly etag: string;
}
export type AggregatedVersion = 'v2' | 'v2beta1';

interface GroupVersionForDiscovery {
  readonly groupVersion: string;
  readonly version: string;
}
/** metav1.APIGroup without kind and apiVersion. */
interface ApiGroup {
  readonly name: string;
  readonly versions: readonly GroupVersionForDiscovery[];
  readonly preferredVersion: GroupVersionForDiscovery;
}

/** Resources by group and version; versions by priority, resources by name. */
type ApisByGroup = ReadonlyMap<string, ReadonlyMap<string, readonly ResourceDefinition[]>>;

/**
 * All discovery documents of a set of served APIs. Created on demand: clients with aggregated discovery need few of
 * them.
 */
export class DiscoveryDocuments {
  readonly #apis: ApisByGroup;
  readonly #isVirtual: boolean;
  readonly #aggregated = new Map<string, TaggedDocument>();

  /** Estimated size of all documents: a resource has some 500 bytes in each aggregated one. */
  readonly estimatedBytes: number;

  /** `isVirtual`: of a virtual workspace. */
  constructor(definitions: readonly ResourceDefinition[], isVirtual = false) {
    this.#isVirtual = isVirtual;
    this.#apis = apisByGroup(definitions);
    this.estimatedBytes = definitions.length * 1536;
  }

  /** The groups except the core group, by priority. */
  groups(): ApiGroup[] {
    return [...this.#apis.keys()].filter((group) => group !== '').map((group) => this.#groupOf(group));
  }

  group(group: string): ApiGroup | undefined {
    return group !== '' && this.#apis.has(group) ? this.#groupOf(group) : undefined;
  }

  /** The `resources` of an APIResourceList; undefined if the group version is not served. */
  resources(group: string, version: string): readonly ApiResource[] | undefined {
    return this.#apis
      .get(group)
      ?.get(version)
      ?.flatMap((definition) =>
        apiResourcesOf(definition, this.#isVirtual ? this.#virtualListing(definition) : undefined),
      );
  }

  /** `core`: the document of `/api`, otherwise that of `/apis`. */
  aggregated(core: boolean, version: AggregatedVersion): TaggedDocument {
    const key = `${version} ${core}`;
    let document = this.#aggregated.get(key);
    if (document === undefined) {
      document = tagged(this.#aggregate(core, version));
      this.#aggregated.set(key, document);
    }
    return document;
  }

  #virtualListing({ group, resource }: ResourceDefinition): VirtualListing {
    const versions = [...(this.#apis.get(group)?.values() ?? [])].flat();
    const withStatus = versions.filter(
      (each) => each.resource === resource && each.subresources['status'] !== undefined,
    );
    return { versionsWithStatus: withStatus.length };
  }

  #groupOf(name: string): ApiGroup {
    const versions = [...(this.#apis.get(name) ?? new Map()).keys()].map((version: string) => ({
      groupVersion: apiVersionOf({ group: name, version }),
      version,
    }));
    return { name, versions, preferredVersion: versions[0] as GroupVersionForDiscovery };
  }

  #aggregate(core: boolean, version: AggregatedVersion): object {
    const items = [];
    for (const [group, versions] of this.#apis) {
      if ((group === '') !== core) continue;
      items.push({
        metadata: group === '' ? {} : { name: group },
        versions: [...versions].map(([name, definitions]) => ({
          version: name,
          resources: definitions.map(aggregatedResourceOf),
          freshness: 'Current',
        })),
      });
    }
    return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
  }
}

function apisByGroup(definitions: readonly ResourceDefinition[]): ApisByGroup {
  const groups = new Map<string, Map<string, ResourceDefinition[]>>();
  for (const definition of definitions) {
    let versions = groups.get(definition.group);
    if (versions === undefined) groups.set(definition.group, (versions = new Map<string, ResourceDefinition[]>()));
    const resources = versions.get(definition.version);
    if (resources === undefined) versions.set(definition.version, [definition]);
    else resources.push(definition);
  }
  const byResource = (a: ResourceDefinition, b: ResourceDefinition): number => (a.resource < b.resource ? -1 : 1);
  return new Map(
    [...groups]
      .sort(([a], [b]) => compareGroups(a, b))
      .map(([group, versions]) => [
        group,
        new Map(
          [...versions]
            .sort(([a], [b]) => compareVersions(a, b))
            .map(([version, resources]) => [version, resources.sort(byResource)]),
        ),
      ]),
  );
}

function tagged(document: object): TaggedDocument {
  const bytes = Buffer.from(`${encodeJsonGo(document)}\n`);
  return { bytes, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"` };
}

import type { GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import { labelsOf, selectableFieldOf, type ObjectReader, type ResourceResolver } from '@multiplane/apiserver';
import type { ResourceDefinition } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import { listPrefix, parseObjectKey, type CacheEntry, type WatchCache } from '@multiplane/storage';
import { hasClaimLabels, type ClaimedObject, type ClaimLabels } from './claim-labels.ts';
import type { ClaimReferences, ReferenceChange } from './claim-references.ts';

interface ClaimedObjectsModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  readonly labels: ClaimLabels;
  readonly references: Pick<ClaimReferences, 'subscribe'>;
}

/**
 * Finds the objects of a resource in a logical cluster whose claim labels differ from the claims in force. It reads the labels
 * that the watch cache keeps beside each object; only claims with a field selector have objects decoded.
 */
export class ClaimedObjects {
  readonly #modules: ClaimedObjectsModules;
  constructor(modules: ClaimedObjectsModules) {
    this.#modules = modules;
  }

  /** The resource in its storage version; undefined if the logical cluster does not serve it. */
  resourceOf(cluster: LogicalClusterName, wanted: GroupResource): ResourceDefinition | undefined {
    return this.#definition(cluster, wanted);
  }

  async *mislabeled(cluster: LogicalClusterName, wanted: GroupResource): AsyncGenerator<ObjectReference> {
    const { cache, labels } = this.#modules;
    const definition = this.#definition(cluster, wanted);
    const prefix = definition?.storage?.prefix;
    if (definition === undefined || prefix === undefined) return;
    await cache.freshRevision();
    await labels.ready({ cluster, ...wanted });
    const slices = timeSlices();
    for (const entry of cache.snapshot(listPrefix(prefix, cluster)).entries(undefined, Number.POSITIVE_INFINITY)) {
      const location = parseObjectKey(prefix, entry.key);
      if (location === undefined) continue;
      const given = labelsOf(entry);
      if (!hasClaimLabels(given, labels.expected(this.#claimed(definition, entry, location), given))) yield location;
      if (slices.isExceeded) await slices.yield();
    }
  }

  onNamed(listener: (change: ReferenceChange) => void): () => void {
    return this.#modules.references.subscribe(listener);
  }

  #claimed(definition: ResourceDefinition, entry: CacheEntry, location: ObjectReference): ClaimedObject {
    const { group, resource } = definition;
    const field = (name: string): string =>
      selectableFieldOf(entry, definition, name, (stored) => this.#modules.reader.stored(stored));
    return { ...location, group, resource, field };
  }

  #definition(cluster: LogicalClusterName, { group, resource }: GroupResource): ResourceDefinition | undefined {
    const { resolver, reader } = this.#modules;
    const versions = resolver
      .list(cluster)
      .filter((definition) => definition.group === group && definition.resource === resource);
    return versions.find((definition) => reader.isStoredVersion(definition)) ?? versions[0];
  }
}

import type { GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import { labelsOf, type ObjectReader, type ResourceResolver } from '@multiplane/apiserver';
import type { ResourceDefinition } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import { listPrefix, parseObjectKey, type WatchCache } from '@multiplane/storage';
import { hasClaimLabels, type ClaimLabels } from './claim-labels.ts';

interface ClaimedObjectsModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  readonly labels: ClaimLabels;
}

/**
 * Finds the objects of a resource in a logical cluster whose claim labels differ from the claims in force. It reads the labels
 * that the watch cache keeps beside each object, without decoding objects.
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
    const prefix = this.#definition(cluster, wanted)?.storage?.prefix;
    if (prefix === undefined) return;
    await cache.freshRevision();
    const slices = timeSlices();
    for (const entry of cache.snapshot(listPrefix(prefix, cluster)).entries(undefined, Number.POSITIVE_INFINITY)) {
      const location = parseObjectKey(prefix, entry.key);
      if (location === undefined) continue;
      const given = labelsOf(entry);
      const { group, resource } = wanted;
      const expected = labels.expected({ cluster, group, resource, name: location.name }, given);
      if (!hasClaimLabels(given, expected)) yield location;
      if (slices.isExceeded) await slices.yield();
    }
  }

  #definition(cluster: LogicalClusterName, { group, resource }: GroupResource): ResourceDefinition | undefined {
    const { resolver, reader } = this.#modules;
    const versions = resolver
      .list(cluster)
      .filter((definition) => definition.group === group && definition.resource === resource);
    return versions.find((definition) => reader.isStoredVersion(definition)) ?? versions[0];
  }
}

import {
  isCachedResourceStorage,
  readOnlyDefinition,
  type ResourceDefinition,
  type VirtualStorage,
} from '@multiplane/apis';

/** Virtual resources of one schema: one per export that shares it. */
const maxKept = 64;

/**
 * Bound resources whose objects an endpoint outside of the shard serves. Cached resources are read-only; what another
 * endpoint allows, the endpoint decides itself.
 */
export class VirtualDefinitions {
  readonly #made = new WeakMap<ResourceDefinition, Map<string, ResourceDefinition>>();

  /** Always the same object for one definition and storage. */
  of(definition: ResourceDefinition, virtual: VirtualStorage): ResourceDefinition {
    let made = this.#made.get(definition);
    if (made === undefined) this.#made.set(definition, (made = new Map<string, ResourceDefinition>()));
    const key = JSON.stringify(virtual);
    let result = made.get(key);
    if (result === undefined) {
      result = { ...(isCachedResourceStorage(virtual) ? readOnlyDefinition(definition) : definition), virtual };
      made.set(key, result);
      if (made.size > maxKept) made.delete(made.keys().next().value as string);
    }
    return result;
  }
}

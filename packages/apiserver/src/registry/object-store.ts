import { type KubeObject, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry, ObjectLocation } from '@multiplane/storage';
import { type ObjectSize, createObject } from './create-object.ts';
import { FieldManager } from './field-manager.ts';
import { type DeleteObjectOptions, type DeleteOutcome, deleteObject } from './delete-object.ts';
import { MetadataTimes } from './object-metadata.ts';
import { type ObjectStoreModules, keyOf, waitForRevision } from './store-access.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { type UpdatedObject, type UpdateOptions, updateObject } from './update-object.ts';
import { type WriteRequest, type Written, groupResourceOf } from './write-request.ts';

/**
 * The registry: every read of one object and every write of any kind goes through here, with the rules of the kind's
 * definition (K2). It holds no state; truth is in the store, and the watch cache in front of it answers reads.
 */
export class ObjectStore {
  readonly modules: ObjectStoreModules;

  constructor(
    _options: Record<string, never>,
    modules: Omit<ObjectStoreModules, 'fields' | 'times'> & {
      /** Finds the other versions of a kind: managers may speak of those. */
      readonly resolver?: Pick<ResourceResolver, 'resolve'> | undefined;
    },
  ) {
    const { resolver, ...others } = modules;
    this.modules = {
      ...others,
      times: new MetadataTimes(modules.clock),
      fields: new FieldManager({}, { clock: modules.clock, resolver, conversions: () => modules.reader.conversions }),
    };
  }

  /**
   * One object (K3.2): at least as new as now for an absent or empty `resourceVersion`, whatever the cache has for `0`,
   * at least that old for a number. Throws NotFound. At once where the cache is known to be there.
   */
  get(
    definition: ResourceDefinition,
    location: ObjectLocation,
    minRevision: number | undefined,
  ): CacheEntry | Promise<CacheEntry> {
    const { cache } = this.modules;
    if (minRevision === undefined ? cache.isFresh : minRevision <= 0) return this.#present(definition, location);
    return this.#later(definition, location, minRevision);
  }

  async #later(
    definition: ResourceDefinition,
    location: ObjectLocation,
    minRevision: number | undefined,
  ): Promise<CacheEntry> {
    const { cache } = this.modules;
    await (minRevision === undefined ? cache.freshRevision() : waitForRevision(cache, minRevision));
    return this.#present(definition, location);
  }

  #present(definition: ResourceDefinition, location: ObjectLocation): CacheEntry {
    const { cache } = this.modules;
    const entry = cache.peek(keyOf(definition, location));
    if (entry === undefined) throw statusErrors.notFound(groupResourceOf(definition), location.name);
    return entry;
  }

  create(request: WriteRequest, object: KubeObject, size?: ObjectSize): Promise<Written> {
    return createObject(this.modules, request, object, size);
  }

  update(request: WriteRequest, updated: UpdatedObject, options?: UpdateOptions): Promise<Written> {
    return updateObject(this.modules, request, updated, options);
  }

  delete(request: WriteRequest, options: DeleteObjectOptions): Promise<DeleteOutcome> {
    return deleteObject(this.modules, request, options);
  }
}

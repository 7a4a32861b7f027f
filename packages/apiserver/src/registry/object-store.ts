import { statusErrors, type KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry, ObjectLocation } from '@multiplane/storage';
import { createOrReplace } from '../write-path/create-or-replace.ts';
import type { DecodeStep } from '../write-path/decode-step.ts';
import { type DeleteObjectOptions, type DeleteOutcome, deleteObject } from '../write-path/delete-object.ts';
import { type UpdateOptions, updateObject } from '../write-path/update-object.ts';
import type { WriteRequest } from '../write-path/write-request.ts';
import type { WriteResult } from '../write-path/write-result.ts';
import { MetadataTimes } from './codec/metadata-time.ts';
import { groupResourceOf } from './definitions/group-resource.ts';
import type { ResourceResolver } from './definitions/resource-resolver.ts';
import { FieldManager } from './managed-fields/field-manager.ts';
import { waitForRevision } from './store/cache-freshness.ts';
import { keyOf } from './store/object-key.ts';
import type { ObjectStoreModules } from './store/object-store-modules.ts';

/**
 * The registry of all kinds: gets single objects from the watch cache, and runs the write path (see
 * write-path/admission-steps.ts) for all writes. It is stateless.
 */
export class ObjectStore {
  readonly modules: ObjectStoreModules;

  constructor(
    modules: Omit<ObjectStoreModules, 'fields' | 'times'> & {
      /** Resolves the other versions of a kind, which managedFields may refer to. */
      readonly resolver?: Pick<ResourceResolver, 'resolve'> | undefined;
    },
  ) {
    const { resolver, ...others } = modules;
    this.modules = {
      ...others,
      times: new MetadataTimes(modules.clock),
      fields: new FieldManager({ clock: modules.clock, resolver, conversions: () => modules.reader.conversions }),
    };
  }

  /**
   * Gets one object. `minRevision` is the request's `resourceVersion`: undefined for the most recent state, 0 for any state,
   * else a state at least that new. Throws NotFound. Synchronous if the cache is known to be that new.
   */
  get(
    definition: ResourceDefinition,
    location: ObjectLocation,
    minRevision: number | undefined,
  ): CacheEntry | Promise<CacheEntry> {
    const { cache } = this.modules;
    if (minRevision === undefined ? cache.isFresh : minRevision <= 0) return this.#present(definition, location);
    return this.#getLater(definition, location, minRevision);
  }

  async #getLater(
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

  create(request: WriteRequest, object: KubeObject): Promise<WriteResult> {
    return createOrReplace(this.modules, request, object);
  }

  /** Updates, patches and applies; `decode` returns the proposed object. */
  update(request: WriteRequest, decode: DecodeStep, options?: UpdateOptions): Promise<WriteResult> {
    return updateObject(this.modules, request, decode, options);
  }

  delete(request: WriteRequest, options: DeleteObjectOptions): Promise<DeleteOutcome> {
    return deleteObject(this.modules, request, options);
  }
}

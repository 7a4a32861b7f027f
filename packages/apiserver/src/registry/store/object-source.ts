import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';

/** Reads stored objects in the version of a definition, synchronously. */
export interface ObjectSource {
  /** Frozen and shared, or a fresh copy. */
  object(definition: ResourceDefinition, entry: CacheEntry): DeepReadonly<KubeObject>;
  /** The stored bytes (without revision) if a client of this definition receives exactly those. */
  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined;
}

import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import type { Abortable } from '../../time-slices.ts';

/** Reads stored objects in the version of a definition, synchronously. */
export interface ObjectSource {
  /** Frozen and shared, or a fresh copy. */
  object(definition: ResourceDefinition, entry: CacheEntry): DeepReadonly<KubeObject>;
  /** The stored bytes (without revision) if a client of this definition receives exactly those. */
  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined;
  /** About the length of the object that {@link object} returns. */
  sizeOf(entry: CacheEntry): number;
  /** {@link object} of a large entry in passes, after {@link load}. */
  objectIncrementally(definition: ResourceDefinition, entry: CacheEntry): Generator<void, DeepReadonly<KubeObject>>;
  /** Whether {@link servableBytes} takes no long step. */
  isChecked(definition: ResourceDefinition, entry: CacheEntry): boolean;
  /** Checks in time slices whether a large entry has {@link servableBytes}; undefined: nothing to wait for. */
  check(definition: ResourceDefinition, entry: CacheEntry, caller: Abortable): Promise<void> | undefined;
  /** Parses a large entry in time slices before the methods that return objects; undefined: nothing to wait for. */
  load(entry: CacheEntry, caller: Abortable): Promise<void> | undefined;
}

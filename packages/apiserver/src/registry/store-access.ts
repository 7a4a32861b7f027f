import { statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition, SlowChecks } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import {
  type CacheEntry,
  type ObjectLocation,
  type StoredValue,
  type WatchCache,
  isStorageError,
  objectKey,
} from '@multiplane/storage';
import type { AdmissionChain } from '../admission/admission-chain.ts';
import type { DecodedObjects } from './decoded-objects.ts';
import type { FieldManager } from './field-manager.ts';
import type { MetadataTimes } from './object-metadata.ts';
import type { ObjectReader } from './object-reader.ts';
import { groupResourceOf } from './write-request.ts';

export interface ObjectStoreModules {
  readonly cache: WatchCache;
  readonly decoded: DecodedObjects;
  readonly reader: ObjectReader;
  readonly admission: AdmissionChain;
  readonly fields: FieldManager;
  readonly clock: Clock;
  /** Now, as metadata carries it. */
  readonly times: MetadataTimes;
  /** Where validation is done that would hold the event loop; absent: here. */
  readonly slowly?: SlowChecks | undefined;
  /** Version 4 UUIDs. */
  readonly newUid: () => string;
  /** Largest object that is stored; 1.5 MiB when absent. */
  readonly maxObjectBytes?: number | undefined;
  /** An integer from 0 to below - 1, for generated names; absent: random. */
  readonly random?: ((below: number) => number) | undefined;
}

/** How long a read waits for a revision that the cache has not seen (K3.2). */
const maxRevisionWaitMs = 3000;

/** Throws 429 while the cache has never been loaded. A store that is away for a moment leaves what was read before. */
export function requireContent(cache: WatchCache): void {
  if (cache.revision === 0 && !cache.isReady()) throw statusErrors.tooManyRequests('storage is (re)initializing', 1);
}

/** Throws 504 when the revision does not come in time. */
export async function waitForRevision(cache: WatchCache, revision: number): Promise<void> {
  if (revision <= cache.revision) return;
  try {
    await cache.waitFor(revision, maxRevisionWaitMs);
  } catch (error) {
    if (isStorageError(error, 'FutureRevision')) throw statusErrors.tooLargeResourceVersion(revision, cache.revision);
    throw error;
  }
}

/** Storage key of an object. A name that can be no part of a key can be no object either: NotFound. */
export function keyOf(definition: ResourceDefinition, location: ObjectLocation): string {
  const { storage } = definition;
  if (storage === undefined) throw statusErrors.methodNotAllowed('get', groupResourceOf(definition));
  const { name, namespace } = location;
  if (
    name === '' ||
    name === '.' ||
    name === '..' ||
    name.includes('/') ||
    namespace.includes('/') ||
    namespace === '.' ||
    namespace === '..'
  ) {
    throw statusErrors.notFound(groupResourceOf(definition), name);
  }
  return objectKey(storage.prefix, location);
}

/** The state of a key that a write starts from. */
export interface CurrentState {
  readonly entry: CacheEntry | undefined;
  /** It came straight from the store; otherwise it came from the cache and may be behind. */
  readonly confirmed: boolean;
}

/**
 * Reads what a write starts from: from the cache at first, straight from the store when that attempt failed. Nothing is
 * taken for absent on the word of the cache alone.
 */
export async function currentState(cache: WatchCache, key: string, fresh: boolean): Promise<CurrentState> {
  if (!fresh) {
    const entry = cache.peek(key);
    if (entry !== undefined) return { entry, confirmed: false };
  }
  const value = await cache.get(key);
  return { entry: value === undefined ? undefined : asEntry(cache, value), confirmed: true };
}

/** The cache's own entry for a value where it has the same version, so that what is known of it is shared. */
function asEntry(cache: WatchCache, value: StoredValue): CacheEntry {
  const cached = cache.peek(value.key);
  return cached !== undefined && cached.revision === value.revision
    ? cached
    : { key: value.key, value: value.value, revision: value.revision, attachment: undefined };
}

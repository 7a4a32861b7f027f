import type { CacheEntry } from '@multiplane/storage';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { StoredFields } from './stored-fields.ts';
import type { WriteRequest } from './write-request.ts';

type AttemptModules = Pick<ObjectStoreModules, 'protectedFields' | 'reader'>;

/** Prepares the request for an attempt on the current state; undefined: the object is new. Only bound APIs have protected fields. */
export function beginAttempt(
  { protectedFields, reader }: AttemptModules,
  request: WriteRequest,
  existing: CacheEntry | undefined,
): void {
  const { definition } = request;
  if (protectedFields === undefined || definition.bound === undefined) return;
  request.storedFields = new StoredFields(
    { definition },
    {
      protectedFields,
      reader,
      current: () => (existing === undefined ? undefined : reader.stored(existing)),
      work: request.work,
    },
  );
}

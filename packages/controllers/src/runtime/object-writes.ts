import {
  deepEqual,
  isStatusError,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';

/**
 * Writes the status of an object at the resourceVersion that was read, unless it is equal to the current status. Returns
 * whether a write was made. Throws Conflict when the object has changed since it was read.
 */
export async function updateStatus(
  client: ObjectClient,
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  object: DeepReadonly<KubeObject>,
  status: JsonObject,
): Promise<boolean> {
  if (deepEqual((object['status'] ?? {}) as Json, status)) return false;
  await client.update(resource, cluster, withChanges(object, { status }), {
    subresource: 'status',
    discardResult: true,
  });
  return true;
}

/**
 * Writes an object together with its status in one request, so that watchers see both in one event. Only the system may:
 * requests of users change either the object or its status subresource.
 */
export type UpdateWithStatus = (
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  object: KubeObject,
) => Promise<unknown>;

/**
 * Writes several top-level fields of an object in one request at its resourceVersion, unless all of them are equal to the
 * current ones. `metadata` holds the fields of the metadata that change; undefined if none do. Returns whether a write was
 * made.
 */
export async function updateIfChanged<T extends KubeObject>(
  updateWithStatus: UpdateWithStatus,
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  object: DeepReadonly<T>,
  {
    metadata,
    ...fields
  }: { readonly metadata?: Partial<KubeObject['metadata']> | undefined; readonly [field: string]: unknown },
): Promise<boolean> {
  const isEqual = (field: string): boolean => deepEqual((object[field] ?? {}) as Json, (fields[field] ?? {}) as Json);
  if (metadata === undefined && Object.keys(fields).every(isEqual)) return false;
  await updateWithStatus(
    resource,
    cluster,
    withChanges(object, metadata === undefined ? fields : { ...fields, metadata }),
  );
  return true;
}

/** A shallow copy of a listed object with changes, to be written. Unchanged fields are shared with the lister's object. */
export function withChanges<T extends KubeObject>(
  object: DeepReadonly<T>,
  changes: { readonly metadata?: Partial<KubeObject['metadata']>; readonly [field: string]: unknown } = {},
): T {
  const { metadata, ...rest } = changes;
  return { ...object, ...rest, metadata: { ...object.metadata, ...metadata } } as T;
}

/** Runs a write and ignores StatusErrors with these reasons, such as NotFound of a delete or AlreadyExists of a create. */
export async function ignoreReasons(reasons: readonly string[], write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isStatusError(error) || !reasons.includes(error.reason)) throw error;
  }
}

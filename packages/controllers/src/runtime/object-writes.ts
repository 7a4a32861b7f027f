import {
  deepEqual,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';

/**
 * Writes the status of an object that was read before, at its resourceVersion; nothing is written when it is the same.
 * Returns whether something was written. Throws Conflict when somebody else wrote first.
 */
export async function updateStatus(
  client: ObjectClient,
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  object: DeepReadonly<KubeObject>,
  status: JsonObject,
): Promise<boolean> {
  if (deepEqual((object['status'] ?? {}) as Json, status)) return false;
  await client.update(resource, cluster, mutable(object, { status }), { subresource: 'status', unread: true });
  return true;
}

/**
 * Writes an object and its status at once, at its resourceVersion: what belongs together is seen together, and costs one
 * write. Only the system may.
 */
export type UpdateWhole = (
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  object: KubeObject,
) => Promise<unknown>;

/**
 * Brings several parts of an object to what they should be, in one write at its resourceVersion; in none when all of them
 * are as they should be. `metadata`: what of it has to change, undefined where nothing has. Returns whether something was
 * written.
 */
export async function updateParts<T extends KubeObject>(
  updateWhole: UpdateWhole,
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  object: DeepReadonly<T>,
  {
    metadata,
    ...parts
  }: { readonly metadata?: Partial<KubeObject['metadata']> | undefined; readonly [part: string]: unknown },
): Promise<boolean> {
  const isAsWanted = (part: string): boolean => deepEqual((object[part] ?? {}) as Json, (parts[part] ?? {}) as Json);
  if (metadata === undefined && Object.keys(parts).every(isAsWanted)) return false;
  await updateWhole(resource, cluster, mutable(object, metadata === undefined ? parts : { ...parts, metadata }));
  return true;
}

/** An object from a lister with changes, to be written: what does not change is shared with all who know the object. */
export function mutable<T extends KubeObject>(
  object: DeepReadonly<T>,
  changes: { readonly metadata?: Partial<KubeObject['metadata']>; readonly [field: string]: unknown } = {},
): T {
  const { metadata, ...rest } = changes;
  return { ...object, ...rest, metadata: { ...object.metadata, ...metadata } } as T;
}

/** Runs a write that may find its target gone or made already: both are what was wanted. */
export async function ignoring(reasons: readonly string[], write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (
      !(
        error instanceof Error &&
        error.name === 'StatusError' &&
        reasons.includes((error as unknown as { reason: string }).reason)
      )
    )
      throw error;
  }
}

import {
  deepCopy,
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
  await client.update(resource, cluster, mutable(object, { status }), { subresource: 'status' });
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
) => Promise<KubeObject>;

/** A changed copy of an object from a lister. */
export function mutable<T extends KubeObject>(
  object: DeepReadonly<T>,
  changes: { readonly metadata?: Partial<KubeObject['metadata']>; readonly [field: string]: unknown } = {},
): T {
  const copy = deepCopy(object as unknown as JsonObject) as unknown as T;
  const { metadata, ...rest } = changes;
  return { ...copy, ...rest, metadata: { ...copy.metadata, ...metadata } };
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

import {
  deepEqual,
  isStatusError,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerFactory, ObjectClient } from '@multiplane/client';
import { yieldToEventLoop } from '@multiplane/component-base';

interface BootstrapModules {
  readonly client: ObjectClient;
  readonly informers: InformerFactory;
}

/** Bounds the retries after conflicts with replicas that bootstrap at the same time. */
const maxAttempts = 10;
const autoUpdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate';

/**
 * Creates a bootstrap object, or adds missing entries to the given list fields of an existing one; additional entries stay. An
 * object whose annotation `rbac.authorization.kubernetes.io/autoupdate` is `false` is not changed, as in Kubernetes. Yields to
 * the event loop once per object, because a first start creates hundreds and an unchanged object needs no other await.
 */
export async function reconcileObject(
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  wanted: KubeObject,
  lists: readonly string[],
  { client, informers }: BootstrapModules,
): Promise<void> {
  await yieldToEventLoop();
  const reference = { cluster, namespace: wanted.metadata.namespace ?? '', name: wanted.metadata.name ?? '' };
  let current: DeepReadonly<KubeObject> | undefined = informers.informer(resource).get(reference);
  for (let attempt = 1; ; attempt++) {
    try {
      if (current === undefined) {
        await client.create(resource, cluster, wanted);
        return;
      }
      if (current.metadata.annotations?.[autoUpdateAnnotation] === 'false') return;
      const changes = missingEntries(current, wanted, lists);
      if (changes !== undefined)
        await client.update(resource, cluster, { ...(structuredClone(current) as KubeObject), ...changes });
      return;
    } catch (error) {
      // Another replica created the same object: done. After a conflict the object is read again.
      if (isStatusError(error, 'AlreadyExists')) return;
      if (!isStatusError(error, 'Conflict') || attempt === maxAttempts) throw error;
      current = await client.get(resource, reference);
    }
  }
}

function missingEntries(
  current: DeepReadonly<KubeObject>,
  wanted: KubeObject,
  lists: readonly string[],
): Record<string, Json[]> | undefined {
  const changes: Record<string, Json[]> = {};
  for (const field of lists) {
    const have = (current[field] ?? []) as Json[];
    const missing = ((wanted[field] ?? []) as Json[]).filter((entry) => !have.some((known) => deepEqual(known, entry)));
    if (missing.length > 0) changes[field] = [...have, ...missing];
  }
  return Object.keys(changes).length === 0 ? undefined : changes;
}

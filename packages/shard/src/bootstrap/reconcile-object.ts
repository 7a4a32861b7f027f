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
import { nextTurn } from '@multiplane/component-base';

interface BootstrapModules {
  readonly client: ObjectClient;
  readonly informers: InformerFactory;
}

/** Replicas that start at the same time do not stay in step for longer. */
const maxAttempts = 10;
const autoUpdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate';

/**
 * Brings one object of the bootstrap to what it should at least be: made when missing; missing entries of the given
 * lists are added, what somebody added stays; left alone when its auto-update annotation says `false` (K7.4). Each object
 * has a turn of the event loop: there are hundreds to make at a first start, and where nothing is missing nothing is waited for.
 */
export async function reconcileObject(
  resource: GroupVersionResource,
  cluster: LogicalClusterName,
  wanted: KubeObject,
  lists: readonly string[],
  { client, informers }: BootstrapModules,
): Promise<void> {
  await nextTurn();
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
      // Another replica was first. What it made is as good as ours; what it changed is read again.
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

import { isLogicalClusterName, isStatusError } from '@multiplane/apimachinery';
import type { InformerSource, ObjectClient } from '@multiplane/client';
import {
  shardAnnotation,
  shardHash,
  shardHashAnnotation,
  workspaces,
  type LogicalCluster,
} from '@multiplane/controllers';
import type { ShardClients } from './shard-clients.ts';

/**
 * Annotates the owning Workspace of a logical cluster with this shard after a move: directly if the Workspace is on this shard,
 * else through the front-proxy. Does nothing if the Workspace is deleted, or without an identity for the front-proxy.
 */
export async function notifyOwnerOfMove(
  owner: NonNullable<LogicalCluster['spec']>['owner'],
  options: { readonly shardName: string },
  modules: { readonly clients: ShardClients; readonly client: ObjectClient; readonly informers: InformerSource },
): Promise<void> {
  if (owner?.resource !== workspaces.resource || !isLogicalClusterName(owner.cluster)) return;
  const reference = { cluster: owner.cluster, namespace: '', name: owner.name };
  const isLocal = modules.informers.informer(workspaces).get(reference) !== undefined;
  const client = isLocal ? modules.client : modules.clients.external;
  const annotations = {
    [shardAnnotation]: options.shardName,
    [shardHashAnnotation]: shardHash(options.shardName),
  };
  try {
    await client?.patch(workspaces, reference, 'application/merge-patch+json', {
      metadata: { ...(owner.uid === undefined ? {} : { uid: owner.uid }), annotations },
    });
  } catch (error) {
    // Conflict: a different Workspace with the same name exists, so its UID does not match.
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
  }
}

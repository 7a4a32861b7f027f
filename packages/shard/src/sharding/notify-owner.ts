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
 * Writes on a Workspace that its logical cluster is on this shard (C5.8): here when the Workspace is here, else by way of
 * the front-proxy. A Workspace that is gone needs nothing; without somebody to ask the front-proxy as, nothing is told.
 */
export async function tellOwnerOfMove(
  owner: NonNullable<LogicalCluster['spec']>['owner'],
  options: { readonly shardName: string },
  modules: { readonly clients: ShardClients; readonly client: ObjectClient; readonly informers: InformerSource },
): Promise<void> {
  if (owner?.resource !== workspaces.resource || !isLogicalClusterName(owner.cluster)) return;
  const reference = { cluster: owner.cluster, namespace: '', name: owner.name };
  const isHere = modules.informers.informer(workspaces).get(reference) !== undefined;
  const client = isHere ? modules.client : modules.clients.external;
  const annotations = {
    [shardAnnotation]: options.shardName,
    [shardHashAnnotation]: shardHash(options.shardName),
  };
  try {
    await client?.patch(workspaces, reference, 'application/merge-patch+json', {
      metadata: { ...(owner.uid === undefined ? {} : { uid: owner.uid }), annotations },
    });
  } catch (error) {
    // Another one of that name is not the owner: its uid conflicts.
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
  }
}

import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import type { LogicalCluster } from './kinds.ts';

/**
 * LogicalClusters on any shard, by the name of the shard they were made on. Calls fail with StatusErrors, or with what
 * went wrong on the way when the shard cannot be reached; nothing is known then.
 */
export interface LogicalClusterAccess {
  /** True where {@link get} costs nothing and every change comes as an event. */
  isLocal(shard: string): boolean;
  /** What events have told so far of one that is local; undefined elsewhere, and where none has come yet. */
  known(shard: string, cluster: LogicalClusterName): DeepReadonly<LogicalCluster> | undefined;
  /** Undefined only when it certainly is not there. */
  get(shard: string, cluster: LogicalClusterName): Promise<DeepReadonly<LogicalCluster> | undefined>;
  /** Elsewhere, the answer waits a moment for what becomes of it: most are Ready with the first word about them. */
  create(shard: string, cluster: LogicalClusterName, object: LogicalCluster): Promise<LogicalCluster>;
  delete(shard: string, cluster: LogicalClusterName): Promise<void>;
}

import type { DeepReadonly, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { LogicalCluster } from './kinds.ts';

/**
 * LogicalClusters on any shard, by the name of the shard. Calls fail with StatusErrors, or with a transport error of
 * unknown outcome if the shard cannot be reached.
 */
export interface LogicalClusterAccess {
  /** Whether the shard is this one: {@link get} needs no request, and changes arrive as events. */
  isLocal(shard: string): boolean;
  /** The object in the local informer; undefined for other shards and before its first event. */
  cached(shard: string, cluster: LogicalClusterName): DeepReadonly<LogicalCluster> | undefined;
  /** Undefined only if the object certainly does not exist. */
  get(shard: string, cluster: LogicalClusterName): Promise<DeepReadonly<LogicalCluster> | undefined>;
  /** On another shard the response waits a moment, because most logical clusters become Ready within it. */
  create(shard: string, cluster: LogicalClusterName, object: LogicalCluster): Promise<LogicalCluster>;
  delete(shard: string, cluster: LogicalClusterName): Promise<void>;
  /** Changes annotations by a merge patch; NotFound if the object does not exist. */
  annotate(shard: string, cluster: LogicalClusterName, patch: JsonObject): Promise<void>;
}

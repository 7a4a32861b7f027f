import type { DeepReadonly } from '@multiplane/apimachinery';
import type { Lister } from '@multiplane/client';
import { shardReference } from '../sharding/kinds.ts';

/** What one shard reports in the status of a scope or a set; see `scope-report-controller.ts`. */
interface ShardReport {
  readonly name: string;
}

/**
 * The field `shards` of a status without entries of shards that have no Shard object any more. While the Shard objects of the
 * installation arrive, an entry may be removed too early; its shard then writes it again.
 */
export function reportsOfPresentShards<T extends ShardReport>(
  reports: readonly DeepReadonly<T>[] | undefined,
  shards: Pick<Lister, 'get'>,
): { shards?: T[] } {
  const present = (reports ?? []).filter(({ name }) => shards.get(shardReference(name)) !== undefined);
  // The caller only serializes them.
  return present.length === 0 ? {} : { shards: present as readonly ShardReport[] as T[] };
}

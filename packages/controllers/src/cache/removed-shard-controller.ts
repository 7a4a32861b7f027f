import type { InformerFactory } from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';
import { Controller } from '../runtime/controller.ts';
import { shardReference, shards } from '../sharding/kinds.ts';

export interface RemovedShardModules {
  /** Of the root shard, which stores the Shard objects. */
  readonly informers: InformerFactory;
  readonly cachedObjects: {
    /** Names of all shards with cached objects. */
    shards(): Promise<ReadonlySet<string>>;
    /** Deletes all cached objects of a shard. */
    sweep(shard: string): Promise<void>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Cached objects of a shard without a Shard object are kept for this time: the shard may be about to register. */
const gracePeriodMs = 5 * 60_000;
/** Key of the initial check of all shards; not a valid name of a shard. */
const allShards = '*';

/**
 * Deletes the cached objects of removed shards; kcp keeps them. Runs on the root shard. A shard is removed when its Shard
 * object is deleted, or when cached objects name it at the start and it has no Shard object five minutes later. If the
 * shard still runs, it observes the deletions and publishes its objects again.
 */
export function removedShardController(
  options: {
    /** Name of the root shard. */
    readonly shardName: string;
  },
  modules: RemovedShardModules,
): Controller {
  const { informers, cachedObjects, clock, logger } = modules;
  const registered = informers.informer(shards);
  const controller: Controller = new Controller({ name: 'removed-shards', reconcile, workers: 1 }, { clock, logger });
  const isRegistered = (shard: string): boolean => registered.get(shardReference(shard)) !== undefined;
  /** Since when shards have no Shard object; monotonic milliseconds. */
  const missingSince = new Map<string, number>();

  registered.addHandlers({
    deleted: (_shard, { name }) => {
      missingSince.set(name, Number.NEGATIVE_INFINITY);
      controller.queue.add(name);
    },
  });
  controller.queue.add(allShards);

  async function reconcile(key: string): Promise<number | void> {
    if (key !== allShards) return reconcileShard(key);
    for (const shard of await cachedObjects.shards()) {
      if (missingSince.has(shard) || isRegistered(shard)) continue;
      missingSince.set(shard, clock.monotonic());
      controller.queue.add(shard);
    }
  }

  async function reconcileShard(shard: string): Promise<number | void> {
    const since = missingSince.get(shard);
    if (since === undefined) return;
    // Before the root shard is registered itself, the other Shard objects may not be known either.
    const left = isRegistered(options.shardName) ? since + gracePeriodMs - clock.monotonic() : gracePeriodMs;
    if (isRegistered(shard) || shard === options.shardName) {
      missingSince.delete(shard);
      return;
    }
    if (left > 0) return left;
    logger.info('deleting the cached objects of a removed shard', { shard });
    await cachedObjects.sweep(shard);
    missingSince.delete(shard);
  }
  return controller;
}

import type { InformerFactory } from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';
import { Controller } from '../runtime/controller.ts';
import { shardReference, shards } from '../sharding/kinds.ts';

export interface RemovedShardModules {
  /** Of the root shard, where the Shard objects live. */
  readonly informers: InformerFactory;
  readonly replicas: {
    /** Names of all shards that have replicas. */
    shards(): Promise<ReadonlySet<string>>;
    /** Removes every replica that a shard has. */
    sweep(shard: string): Promise<void>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Replicas of a shard that has no Shard object are left alone for so long: it may be about to register. */
const unknownShardMs = 5 * 60_000;
/** Key of the look at all replicas; no shard may have this name. */
const everything = '*';

/**
 * Takes the replicas of a removed shard out of the cache; the reference leaves them there for ever (C16.2). Runs on the
 * root shard. A shard counts as removed when its Shard object is deleted, or when replicas name it at the start and it
 * has no Shard object five minutes later (deleted while nobody looked). A shard that is wrongly taken for removed loses
 * nothing: it sees its replicas go and publishes them again.
 */
export function removedShardController(
  options: {
    /** The root shard itself. */
    readonly shardName: string;
  },
  modules: RemovedShardModules,
): Controller {
  const { informers, replicas, clock, logger } = modules;
  const registered = informers.informer(shards);
  const controller: Controller = new Controller({ name: 'removed-shards', reconcile, workers: 1 }, { clock, logger });
  const isRegistered = (shard: string): boolean => registered.get(shardReference(shard)) !== undefined;
  /** Shards without a Shard object, since when. */
  const unknown = new Map<string, number>();

  registered.addHandlers({
    deleted: (_shard, { name }) => {
      unknown.set(name, Number.NEGATIVE_INFINITY);
      controller.queue.add(name);
    },
  });
  controller.queue.add(everything);

  async function reconcile(key: string): Promise<number | void> {
    if (key !== everything) return consider(key);
    for (const shard of await replicas.shards()) {
      if (unknown.has(shard) || isRegistered(shard)) continue;
      unknown.set(shard, clock.monotonic());
      controller.queue.add(shard);
    }
  }

  async function consider(shard: string): Promise<number | void> {
    const since = unknown.get(shard);
    if (since === undefined) return;
    // Without its own Shard object this one does not know the others either.
    const left = isRegistered(options.shardName) ? since + unknownShardMs - clock.monotonic() : unknownShardMs;
    if (isRegistered(shard) || shard === options.shardName) {
      unknown.delete(shard);
      return;
    }
    if (left > 0) return left;
    logger.info('the replicas of a removed shard go', { shard });
    await replicas.sweep(shard);
    unknown.delete(shard);
  }
  return controller;
}

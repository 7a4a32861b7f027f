import { shardNameAnnotation } from '@multiplane/apimachinery';
import type { InformerFactory, InformerSource } from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';
import { Controller } from '../runtime/controller.ts';
import { shardReference, shards } from '../sharding/kinds.ts';
import { replicatedKinds, type ReplicatedKind } from './replicated-kinds.ts';

export interface RemovedShardModules {
  /** Of the root shard, where the Shard objects live. */
  readonly informers: InformerFactory;
  /** The replicas of all shards. */
  readonly cached: InformerSource;
  /** Removes every replica that a shard has. */
  readonly sweep: (shard: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RemovedShardOptions {
  /** The root shard itself. */
  readonly shardName: string;
  readonly kinds?: readonly ReplicatedKind[] | undefined;
}

/** Replicas of a shard that has no Shard object are left alone for so long: it may be about to register. */
const unknownShardMs = 5 * 60_000;

/**
 * Takes the replicas of a removed shard out of the cache; the reference leaves them there for ever (C16.2). Runs on the
 * root shard. A shard counts as removed when its Shard object is deleted, or when replicas name it and it has had no
 * Shard object for five minutes (deleted while nobody looked). A shard that is wrongly taken for removed loses nothing: it
 * sees its replicas go and publishes them again.
 */
export function removedShardController(options: RemovedShardOptions, modules: RemovedShardModules): Controller {
  const { informers, cached, sweep, clock, logger } = modules;
  const registered = informers.informer(shards);
  const controller: Controller = new Controller({ name: 'removed-shards', reconcile, workers: 1 }, { clock, logger });
  /** Shards without a Shard object, since when. */
  const unknown = new Map<string, number>();

  registered.addHandlers({
    added: (_shard, { name }) => void unknown.delete(name),
    deleted: (_shard, { name }) => {
      unknown.set(name, Number.NEGATIVE_INFINITY);
      controller.queue.add(name);
    },
  });
  for (const kind of options.kinds ?? replicatedKinds) {
    cached.informer(kind).addHandlers({
      added: ({ metadata }) => {
        const shard = metadata.annotations?.[shardNameAnnotation] ?? '';
        if (shard === '' || unknown.has(shard) || registered.get(shardReference(shard)) !== undefined) return;
        unknown.set(shard, clock.monotonic());
        controller.queue.add(shard);
      },
    });
  }

  async function reconcile(shard: string): Promise<number | void> {
    const since = unknown.get(shard);
    if (since === undefined) return;
    // Without its own Shard object this one does not know the others either.
    if (shard === options.shardName || registered.get(shardReference(options.shardName)) === undefined) {
      unknown.delete(shard);
      return;
    }
    if (registered.get(shardReference(shard)) !== undefined) {
      unknown.delete(shard);
      return;
    }
    const left = since + unknownShardMs - clock.monotonic();
    if (left > 0) return left;
    logger.info('the replicas of a removed shard go', { shard });
    await sweep(shard);
    unknown.delete(shard);
  }
  return controller;
}

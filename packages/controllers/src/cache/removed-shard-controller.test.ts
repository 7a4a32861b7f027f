import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import type { InformerFactory, InformerHandlers, ObjectReference } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { shardReference } from '../sharding/kinds.ts';
import { removedShardController } from './removed-shard-controller.ts';
import { FakeClock } from '@multiplane/testing';

/** Shard objects, and what the cache holds of which shard. */
class World {
  readonly clock = new FakeClock();
  readonly swept: string[] = [];
  readonly #registered: Set<string>;
  readonly #handlers: InformerHandlers[] = [];

  constructor(registered: readonly string[], replicated: readonly string[]) {
    this.#registered = new Set(registered);
    const shard = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Shard', metadata: { name } });
    const informers = {
      informer: () => ({
        get: ({ name }: ObjectReference) => (this.#registered.has(name) ? shard(name) : undefined),
        addHandlers: (handlers: InformerHandlers) => void this.#handlers.push(handlers),
      }),
    } as unknown as InformerFactory;
    const controller = removedShardController(
      { shardName: 'root' },
      {
        informers,
        clock: this.clock,
        logger: silentLogger,
        cachedObjects: {
          shards: async () => new Set(replicated),
          sweep: async (name) => void this.swept.push(name),
        },
      },
    );
    void controller.start();
  }

  register(name: string): void {
    this.#registered.add(name);
  }

  delete(name: string): void {
    this.#registered.delete(name);
    const old: KubeObject = { apiVersion: 'v1', kind: 'Shard', metadata: { name } };
    for (const handlers of this.#handlers) handlers.deleted?.(old, shardReference(name));
  }
}

describe('removed shards', () => {
  test('lose their cached objects when their Shard object is deleted', async () => {
    const world = new World(['root', 'east', 'west'], ['root', 'east', 'west']);
    await world.clock.advance(1);
    world.delete('east');
    await world.clock.advance(1);
    expect(world.swept).toEqual(['east']);
  });

  test('lose them after the grace period if the deletion was not observed', async () => {
    const world = new World(['root'], ['root', 'gone']);
    await world.clock.advance(299_000);
    expect(world.swept).toEqual([]);
    await world.clock.advance(2_000);
    expect(world.swept).toEqual(['gone']);
  });

  test('that register within the grace period keep them', async () => {
    const world = new World(['root'], ['root', 'new']);
    await world.clock.advance(200_000);
    world.register('new');
    await world.clock.advance(1_000_000);
    expect(world.swept).toEqual([]);
  });

  test('do not include the root shard, nor any shard before the root shard is registered', async () => {
    const world = new World([], ['root', 'east']);
    await world.clock.advance(10_000_000);
    expect(world.swept).toEqual([]);
    world.register('root');
    world.register('east');
    await world.clock.advance(10_000_000);
    world.delete('root');
    await world.clock.advance(10_000_000);
    expect(world.swept).toEqual([]);
  });
});

import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import type { InformerFactory, InformerHandlers, ObjectReference } from '@multiplane/client';
import { FakeClock, silentLogger } from '@multiplane/component-base';
import { shardReference } from '../sharding/kinds.ts';
import { removedShardController } from './removed-shard-controller.ts';

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
        replicas: {
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
  test('lose their replicas when their Shard object goes', async () => {
    const world = new World(['root', 'east', 'west'], ['root', 'east', 'west']);
    await world.clock.advance(1);
    world.delete('east');
    await world.clock.advance(1);
    expect(world.swept).toEqual(['east']);
  });

  test('lose them although nobody saw them go, after a while', async () => {
    const world = new World(['root'], ['root', 'gone']);
    await world.clock.advance(299_000);
    expect(world.swept).toEqual([]);
    await world.clock.advance(2_000);
    expect(world.swept).toEqual(['gone']);
  });

  test('a shard that registers late keeps what it has published', async () => {
    const world = new World(['root'], ['root', 'new']);
    await world.clock.advance(200_000);
    world.register('new');
    await world.clock.advance(1_000_000);
    expect(world.swept).toEqual([]);
  });

  test('nothing is taken away while the root shard does not know itself, nor ever from itself', async () => {
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

import { afterEach, expect, test } from '@jest/globals';
import { Pipeline } from '../pipeline-fixture.ts';
import { CacheSubscription } from './cache-subscription.ts';

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

test('gives up when the cache is closed before all is told: a server that stops while it starts must end', async () => {
  pipeline = await Pipeline.open();
  const keys: string[] = [];
  const subscription = new CacheSubscription(
    { scope: '/registry/' },
    { cache: pipeline.cache, follower: { changed: ({ key }) => void keys.push(key), removed: () => undefined } },
  );
  const closed = pipeline.cache.close();
  await subscription.synced;
  // Told once, not again and again.
  expect(new Set(keys).size).toBe(keys.length);
  await closed;
});

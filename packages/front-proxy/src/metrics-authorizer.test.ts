import { expect, test } from '@jest/globals';
import type { Json, UserInfo } from '@multiplane/apimachinery';
import { FakeClock } from '@multiplane/testing';
import { MetricsAuthorizer } from './metrics-authorizer.ts';

const user: UserInfo = { name: 'monitoring', uid: '', groups: ['scrapers'], extra: {} };

class RootShard {
  answer: boolean | Error = true;
  reviews = 0;
  readonly clock = new FakeClock();
  readonly authorizer = new MetricsAuthorizer({ transport: this, clock: this.clock });

  json(): Promise<Json> {
    this.reviews++;
    return this.answer instanceof Error
      ? Promise.reject(this.answer)
      : Promise.resolve({ status: { allowed: this.answer } });
  }
}

const refused = new Error('connect ECONNREFUSED 10.0.0.1:6444');
const unavailable = expect.objectContaining({
  code: 503,
  message: 'the access to metrics could not be reviewed',
  details: { retryAfterSeconds: 1 },
});

test('decisions are used for ten seconds', async () => {
  const shard = new RootShard();
  expect(await shard.authorizer.allows(user)).toBe(true);
  shard.answer = false;
  expect(await shard.authorizer.allows(user)).toBe(true);
  await shard.clock.advance(10_000);
  expect(await shard.authorizer.allows(user)).toBe(false);
  expect(shard.reviews).toBe(2);
});

test('whom the root shard allowed keeps the access for five minutes of its outage', async () => {
  const shard = new RootShard();
  expect(await shard.authorizer.allows(user)).toBe(true);
  shard.answer = refused;
  await shard.clock.advance(299_000);
  expect(await shard.authorizer.allows(user)).toBe(true);
  await shard.clock.advance(1_000);
  await expect(shard.authorizer.allows(user)).rejects.toEqual(unavailable);
  shard.answer = true;
  expect(await shard.authorizer.allows(user)).toBe(true);
});

test('others get 503 during the outage, without its reason', async () => {
  const shard = new RootShard();
  shard.answer = refused;
  await expect(shard.authorizer.allows(user)).rejects.toEqual(unavailable);
  shard.answer = false;
  expect(await shard.authorizer.allows(user)).toBe(false);
  shard.answer = refused;
  await shard.clock.advance(10_000);
  await expect(shard.authorizer.allows(user)).rejects.toEqual(unavailable);
});

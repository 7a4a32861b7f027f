import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { RequestBodyLimiter, type BodyProgress, type PendingBody } from './request-body-limiter.ts';

class Body implements PendingBody {
  progress: BodyProgress | undefined = undefined;
  readonly owner: string;
  refused: string | undefined;
  readonly #limiter: RequestBodyLimiter;
  constructor(limiter: RequestBodyLimiter, owner: string) {
    this.owner = owner;
    this.#limiter = limiter;
    limiter.start(this);
  }
  refuseSlowBody(reason: Error): void {
    this.refused = reason.message;
    this.#limiter.end(this);
  }
}

const limits = { maxBytes: 1_000, maxBytesPerOwner: 400, minBytesPerSecond: 10, graceMs: 10_000 };

test('bodies below the minimum rate are refused after the grace period', async () => {
  const clock = new FakeClock();
  const limiter = new RequestBodyLimiter(limits, { clock });
  const [stalled, slow, done] = [new Body(limiter, 'a'), new Body(limiter, 'b'), new Body(limiter, 'c')];
  limiter.received(slow, 105);
  limiter.end(done);
  await clock.advance(9_000);
  expect([stalled.refused, slow.refused]).toEqual([undefined, undefined]);
  await clock.advance(1_000);
  expect([stalled.refused, slow.refused]).toEqual(['the request body arrives too slowly', undefined]);
  await clock.advance(1_000);
  expect([slow.refused, done.refused]).toEqual(['the request body arrives too slowly', undefined]);
  await clock.advance(5_000);
  expect(clock.timers).toBe(0);
});

test('bytes of one user, and of all, are limited', () => {
  const limiter = new RequestBodyLimiter(limits, { clock: new FakeClock() });
  const bodies = ['a', 'a', 'b', 'c'].map((owner) => new Body(limiter, owner));
  const receive = (index: number, bytes: number): boolean => {
    const body = bodies[index] as Body;
    limiter.received(body, bytes);
    return body.refused !== undefined;
  };
  expect([receive(0, 300), receive(1, 100), receive(1, 1)]).toEqual([false, false, true]);
  // The refused body is not counted any more.
  expect([receive(0, 100), receive(2, 400), receive(3, 200), receive(3, 1)]).toEqual([false, false, false, true]);
});

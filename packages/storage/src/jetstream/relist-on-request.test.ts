import { FakeClock } from '@multiplane/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RelistOnRequest } from './relist-on-request.ts';
import { RelistRequests } from './relist-requests.ts';
import type { Published, StoredMessage, StreamClient } from './stream-client.ts';
import { StreamSubjects } from './stream-subjects.ts';

const subjects = new StreamSubjects('s');
const filter = subjects.filter('/cache/g/r/i/a/');

describe('a writer lists again when a reader requests it', () => {
  let clock: FakeClock;
  let request: Partial<StoredMessage> | undefined;
  let reads: number;
  /** Sequence of the last message of the writer's keys. */
  let last: number;
  let held: number;
  let requests: RelistRequests;
  let writer: RelistOnRequest;
  beforeEach(() => {
    clock = new FakeClock();
    request = undefined;
    reads = 0;
    last = 15;
    held = 3;
    const client = {
      lastMessage: async (subject: string) => {
        if (subject === filter) return { sequence: last };
        reads++;
        return request;
      },
      publish: async ({ data }: Published) => (request = { sequence: (request?.sequence ?? 20) + 1, data }),
    } as unknown as StreamClient;
    requests = new RelistRequests({ client, subjects, clock });
    writer = new RelistOnRequest(
      { after: 20, filter },
      { client, subjects, relistRequests: requests, clock, random: () => 0.5, heldKeys: () => held },
    );
  });
  const check = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await writer.check(30);
  };
  const relists = async (): Promise<boolean> => {
    await check(5_000);
    return await check(5_000).then(
      () => false,
      () => true,
    );
  };
  const publish = (counts: readonly (readonly [string, number])[]): Promise<void> =>
    requests.publish({ through: 20, counts: new Map(counts) });

  test('within ten seconds after a request that is newer than its list, not before', async () => {
    for (let i = 0; i < 10; i++) await check(1_000);
    expect(reads).toBe(2);
    await requests.ensureAfter(20);
    await check(1_000);
    await check(4_999);
    await expect(check(1)).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('not when the reader found as many keys', async () => {
    await publish([
      ['a.g.r.i', 3],
      ['b.g.r.i', 7],
    ]);
    expect(await relists()).toBe(false);
  });

  test('when the reader found fewer keys, or none', async () => {
    await publish([['b.g.r.i', 3]]);
    expect(await relists()).toBe(true);
  });

  test('not before it has received what the reader listed', async () => {
    last = 20;
    held = 2;
    await publish([['a.g.r.i', 3]]);
    await clock.advance(5_000);
    for (let i = 0; i < 5; i++) {
      await clock.advance(5_000);
      await writer.check(19);
    }
    held = 3;
    expect(await relists()).toBe(false);
  });

  test('when a key changed after the list of the reader began: the numbers do not compare', async () => {
    last = 21;
    await publish([['a.g.r.i', 3]]);
    expect(await relists()).toBe(true);
  });

  test('when the request does not fit into a message', async () => {
    await publish(
      Array.from({ length: 200_000 }, (_, i) => [String(Math.sin(i)), i] as const).concat([['a.g.r.i', 3]]),
    );
    expect(request?.data?.length).toBe(0);
    expect(await relists()).toBe(true);
  });

  test('when the request cannot be decoded', async () => {
    request = { sequence: 21, data: Buffer.from('of another version') };
    expect(await relists()).toBe(true);
  });

  test('one request to all writers replaces another, a request with numbers does not', async () => {
    await publish([]);
    await requests.ensureAfter(20);
    expect(request?.sequence).toBe(22);
    await requests.ensureAfter(20);
    expect(request?.sequence).toBe(22);
  });
});

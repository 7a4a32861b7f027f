import { FakeClock } from '@multiplane/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import { LostMessageDetector } from './lost-message-detector.ts';
import { RelistRequests } from './relist-requests.ts';
import type { StoredMessage, StreamClient } from './stream-client.ts';
import { StreamSubjects } from './stream-subjects.ts';
import { UnheldMessages } from './unheld-messages.ts';

const subjects = new StreamSubjects('s');
const watermarkMessage = message(1, subjects.watermark);

function message(sequence: number, subject: string, removed = false): StoredMessage {
  const header = (name: string): string => (removed && name === 'Multiplane-Removed' ? '1' : '');
  return { subject, sequence, time: 0, header, data: Buffer.alloc(0) };
}

describe('counting the messages of a stream', () => {
  let clock: FakeClock;
  let stream: { messages: number; last_seq: number; compacted: number };
  /** Sequences of relist requests, each the last sequence of the stream. */
  let requests: number[];
  let refuses: boolean;
  let failures: string[];
  let held: number;
  let unheld: UnheldMessages;
  let detector: LostMessageDetector;
  beforeEach(() => {
    clock = new FakeClock();
    stream = { messages: 11, last_seq: 20, compacted: 0 };
    requests = [];
    refuses = false;
    failures = [];
    held = 10;
    unheld = new UnheldMessages({ subjects });
    unheld.observe([watermarkMessage]);
    const client = {
      stream: 's',
      info: async () => ({ state: stream }),
      lastMessage: async () =>
        requests.length === 0 ? undefined : { sequence: requests.at(-1), data: Buffer.alloc(0) },
      publish: async () => {
        if (refuses) throw new Error('refused');
        if (requests.length === 0) stream.messages++;
        requests.push(++stream.last_seq);
        unheld.observe([message(stream.last_seq, subjects.relist)]);
      },
    };
    const streamClient = client as unknown as StreamClient;
    detector = new LostMessageDetector(
      { after: 20, hasRequested: false },
      {
        client: streamClient,
        relistRequests: new RelistRequests({ client: streamClient, subjects, clock }),
        watermark: { read: async () => ({ compacted: stream.compacted }) } as unknown as CompactionWatermark,
        watchFailures: new WatchFailureReporter({ onWatchFailure: (error) => failures.push(String(error)) }),
        clock,
        heldKeys: () => held,
        unheld,
      },
    );
  });
  /** Advances to the next count, by a reader that has everything. */
  const count = async (ms = 5_000): Promise<void> => {
    await clock.advance(ms);
    await detector.check(stream.last_seq);
  };
  /** The reader has requested lists at its start, and has counted since. */
  const started = async (): Promise<void> => {
    await count();
    await count();
  };

  test('a reader requests lists when it starts, and no more while all messages are there', async () => {
    for (let i = 0; i < 5; i++) await count();
    expect(requests).toEqual([21]);
    expect(failures).toEqual([]);
  });

  test('a request of another reader after its list is enough', async () => {
    requests.push(21);
    stream.last_seq = 21;
    stream.messages++;
    await count();
    expect(requests).toEqual([21]);
  });

  test('missing messages are reported and requested once; the reader lists again when they are restored', async () => {
    await started();
    stream.messages -= 3;
    await count();
    await count();
    expect(requests.length).toBe(2);
    expect(failures).toContain('Error: the stream s lost at least 3 messages');
    stream.messages += 3;
    await expect(count()).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('a loss shortly after a request is requested again after 20 seconds, if it lasts', async () => {
    await count();
    stream.messages -= 1;
    for (let i = 0; i < 4; i++) await count();
    expect(requests.length).toBe(1);
    await count();
    expect(requests.length).toBe(2);
  });

  test('the reader lists again when no message is restored for 45 seconds', async () => {
    await started();
    stream.messages -= 2;
    for (let i = 0; i < 9; i++) await count();
    stream.messages += 1;
    for (let i = 0; i < 9; i++) await count();
    await expect(count()).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('the reader lists again when messages are missing for five minutes', async () => {
    await started();
    stream.messages += 100 - 20;
    held += 100;
    for (let i = 0; i < 60; i++) {
      await count();
      // One is restored every 25 seconds.
      if (i % 5 === 0) stream.messages += 1;
    }
    await expect(count()).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('newer messages may hide a loss: the count is repeated after a second', async () => {
    await started();
    stream.messages += 2 - 1;
    stream.last_seq += 2;
    await clock.advance(5_000);
    await detector.check(stream.last_seq - 2);
    expect(requests.length).toBe(1);
    held += 2;
    await count(1_000);
    expect(requests.length).toBe(2);
  });

  describe('two keys are deleted', () => {
    beforeEach(async () => {
      await started();
      held -= 2;
      unheld.observe([message(30, 's.a', true), message(31, 's.b', true)]);
      stream.last_seq = 31;
      await count();
    });

    test('their tombstones count', async () => {
      expect(requests.length).toBe(1);
      stream.messages -= 1;
      await count();
      expect(requests.length).toBe(2);
    });

    test('a sweep of the tombstones, which raises the watermark before it removes them, is no loss', async () => {
      stream.compacted = 31;
      stream.messages -= 2;
      stream.last_seq = 40;
      await count();
      expect(failures).toEqual([]);
    });
  });

  test('a key that is created again replaces its tombstone', async () => {
    await count();
    unheld.observe([message(30, 's.a', true), message(31, 's.a')]);
    stream.last_seq = 31;
    await count();
    expect(failures).toEqual([]);
    expect(unheld.size).toBe(2);
  });

  test('a reader that is behind the watermark lists again', async () => {
    stream.compacted = 21;
    await expect(count()).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('a refused request does not end the watch, and is repeated', async () => {
    refuses = true;
    await count();
    expect(failures).toEqual(['Error: refused']);
    refuses = false;
    await count();
    expect(requests).toEqual([21]);
  });
});

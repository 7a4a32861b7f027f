import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { headers, type ConsumerInfo, type Msg, type Subscription } from 'nats';
import { CompactedError } from '../errors.ts';
import type { ConsumerRequest, StreamClient } from './stream-client.ts';
import { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import { StreamFollower } from './stream-follower.ts';

/** Fate of a delivery: `lose` omits it, `late` sends it after the next one, `cut` breaks the connection. */
type Fate = 'arrive' | 'twice' | 'again-later' | 'lose' | 'late' | 'cut';

/** A stream that delivers messages according to a script. */
class ScriptedStream {
  readonly closed = new AbortController();
  /** Existing sequences. */
  readonly sequences: number[];
  readonly #fates: Fate[];
  #onMessage: (message: Msg) => void = () => undefined;
  #onDisconnect: (() => void) | undefined;
  /** Messages that the current consumer still has to deliver. */
  #rest: number[] = [];
  #number = 0;
  /** Last sequence that the current consumer has examined, when it is not the last of the stream. */
  #looked: number | undefined;
  consumers = 0;
  /** Number of closed consumers and subscriptions. */
  givenBack = 0;

  constructor(sequences: readonly number[], fates: readonly Fate[]) {
    this.sequences = [...sequences];
    this.#fates = [...fates];
  }

  addConsumer({ from }: ConsumerRequest): Promise<ConsumerInfo> {
    this.consumers++;
    this.#number = 0;
    this.#looked = undefined;
    this.#rest = this.sequences.filter((sequence) => sequence >= from);
    return Promise.resolve({ name: `c${this.consumers}`, num_pending: this.#rest.length + 1 } as ConsumerInfo);
  }
  subscribe(onMessage: (message: Msg) => void): Subscription {
    this.#onMessage = onMessage;
    const unsubscribed = (): void => {
      this.givenBack++;
      if (this.#onMessage === onMessage) this.#onMessage = () => undefined;
    };
    return { getSubject: () => 'inbox', unsubscribe: unsubscribed } as unknown as Subscription;
  }
  onDisconnect(lost: () => void): () => void {
    this.#onDisconnect = lost;
    return () => undefined;
  }
  removeConsumer(): void {
    this.givenBack++;
    this.#rest = [];
  }
  pull(): void {
    queueMicrotask(() => this.#deliver());
  }
  lastMessage(): Promise<unknown> {
    const sequence = this.sequences.at(-1);
    return Promise.resolve(sequence === undefined ? undefined : { sequence });
  }
  info(): Promise<unknown> {
    return Promise.resolve({ state: { last_seq: this.sequences.at(-1) ?? 0 } });
  }
  messageAt(sequence: number): Promise<unknown> {
    return Promise.resolve(this.sequences.includes(sequence) ? { sequence, time: sequence } : undefined);
  }
  /** The current consumer stops before the last message. */
  withhold(): void {
    this.#rest.pop();
    this.#looked = this.#rest.at(-1);
  }
  pause(): Promise<void> {
    return Promise.resolve();
  }

  #deliver(): void {
    const later: Msg[] = [];
    while (this.#rest.length > 0) {
      const message = this.#message(this.#rest.shift() as number);
      const fate = this.#fates.shift() ?? 'arrive';
      if (fate === 'late') {
        later.push(message);
        continue;
      }
      if (fate !== 'lose') this.#onMessage(message);
      if (fate === 'twice') this.#onMessage(message);
      if (fate === 'cut') this.#onDisconnect?.();
      for (const one of later.splice(0)) this.#onMessage(one);
      if (fate === 'again-later') later.push(message);
    }
    for (const one of later) this.#onMessage(one);
    this.#onMessage(this.#heartbeat());
  }

  #message(sequence: number): Msg {
    // As a NATS 2.9 server that counts messages as pending that never arrive.
    const reply = `$JS.ACK.s.c.1.${sequence}.${++this.#number}.${sequence}000000.${this.#rest.length + 1}`;
    return { subject: `s.${sequence}`, reply, data: Buffer.from(String(sequence)) } as unknown as Msg;
  }

  #heartbeat(): Msg {
    const header = headers(100, 'Idle Heartbeat');
    header.set('Nats-Last-Consumer', String(this.#number));
    header.set('Nats-Last-Stream', String(this.#looked ?? this.sequences.at(-1) ?? 0));
    return { subject: 'inbox', data: Buffer.alloc(0), headers: header } as unknown as Msg;
  }
}

const kept = { assertNotCompacted: () => Promise.resolve() } as unknown as CompactionWatermark;

async function follow(
  stream: ScriptedStream,
  after: number,
  {
    watermark = kept,
    watchFailures = new WatchFailureReporter(),
    attempts,
  }: { watermark?: CompactionWatermark; watchFailures?: WatchFailureReporter; attempts?: number } = {},
): Promise<number[]> {
  const abort = new AbortController();
  const follower = new StreamFollower(
    { after, acceptedDeletes: after, filter: 's.>', attempts, signal: abort.signal },
    { client: stream as unknown as StreamClient, watermark, watchFailures },
  );
  const seen: number[] = [];
  for await (const { messages, sequence } of follower.batches()) {
    seen.push(...messages.map((message) => message.sequence));
    if (sequence >= (stream.sequences.at(-1) ?? 0)) break;
  }
  return seen;
}

test('messages that are repeated, late, out of order or lost are each delivered once, in order', async () => {
  const fate = fc.constantFrom<Fate>('arrive', 'arrive', 'arrive', 'twice', 'again-later', 'lose', 'late', 'cut');
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 40 }),
      fc.array(fate, { maxLength: 60 }),
      fc.nat({ max: 1000 }),
      async (numbers, fates, position) => {
        const sequences = numbers.toSorted((a, b) => a - b);
        const after = Math.min(position, (sequences.at(-1) as number) - 1);
        const stream = new ScriptedStream(sequences, fates);
        expect(await follow(stream, after)).toEqual(sequences.filter((sequence) => sequence > after));
      },
    ),
    { numRuns: 300 },
  );
});

test('a reader that stops after the first batch leaves no consumer behind', async () => {
  const stream = new ScriptedStream([1], []);
  expect(await follow(stream, 0)).toEqual([1]);
  expect([stream.consumers, stream.givenBack]).toEqual([1, 2]);
});

describe('a read of the current state completes', () => {
  const complete = async (stream: ScriptedStream, target: number): Promise<number[]> => {
    const { signal } = new AbortController();
    const options = { after: 0, acceptedDeletes: 0, filter: 's.>', target, signal };
    const client = stream as unknown as StreamClient;
    const follower = new StreamFollower(options, {
      client,
      watermark: kept,
      watchFailures: new WatchFailureReporter(),
    });
    const seen: number[] = [];
    for await (const { messages, complete } of follower.batches()) {
      seen.push(...messages.map(({ sequence }) => sequence));
      if (complete) break;
    }
    return seen;
  };

  test('with the last message, whatever pending count the server reports', async () => {
    expect(await complete(new ScriptedStream([1, 2, 3], []), 3)).toEqual([1, 2, 3]);
  });

  test('immediately when there are no messages', async () => {
    const stream = new ScriptedStream([], []);
    expect(await complete(stream, 0)).toEqual([]);
    expect(stream.consumers).toBe(0);
  });

  test('when the last message was removed before it arrived', async () => {
    expect(await complete(new ScriptedStream([1, 2], []), 3)).toEqual([1, 2]);
  });

  test('over another consumer when one is idle although there are messages', async () => {
    const stream = new ScriptedStream([1, 2, 3], []);
    const add = stream.addConsumer.bind(stream);
    // The first consumer misses the last message and reports that it has sent everything.
    stream.addConsumer = async (request) => {
      const made = add(request);
      if (stream.consumers === 1) stream.withhold();
      return await made;
    };
    expect(await complete(stream, 3)).toEqual([1, 2, 3]);
    expect(stream.consumers).toBe(2);
  });
});

test('a loss of the last message shows in the next heartbeat', async () => {
  const stream = new ScriptedStream([1, 2, 3], ['arrive', 'arrive', 'lose']);
  expect(await follow(stream, 0)).toEqual([1, 2, 3]);
  expect(stream.consumers).toBe(2);
});

test('each lost consumer is reported with the number of consecutive failures', async () => {
  const reported: string[] = [];
  const watchFailures = new WatchFailureReporter({
    onWatchFailure: (error, failures) => reported.push(`${(error as Error).message}: ${failures}`),
  });
  const stream = new ScriptedStream([1, 2], ['lose', 'lose', 'lose', 'lose', 'arrive', 'arrive']);
  expect(await follow(stream, 0, { watchFailures })).toEqual([1, 2]);
  expect(reported).toEqual(['message 1 of the consumer is missing: 1', 'message 1 of the consumer is missing: 2']);
});

test('a read with limited attempts fails when the stream cannot be read', async () => {
  const stream = new ScriptedStream([1, 2], []);
  stream.addConsumer = () => Promise.reject(Object.assign(new Error('no answer'), { code: 'TIMEOUT' }));
  await expect(follow(stream, 0, { attempts: 3 })).rejects.toMatchObject({
    code: 'Unavailable',
    message: 'failed to read the stream: no answer',
  });
});

test('a watermark that is raised while a batch is in flight ends the watch before the batch is delivered', async () => {
  let watermark = 0;
  const rising = {
    assertNotCompacted: (received: number) => {
      if (watermark > received) return Promise.reject(new CompactedError(received, watermark));
      watermark = 6;
      return Promise.resolve();
    },
  } as unknown as CompactionWatermark;
  await expect(follow(new ScriptedStream([5, 7, 9], []), 4, { watermark: rising })).rejects.toMatchObject({
    code: 'Compacted',
  });
});

test('a stream that ends before the received sequence is a different one', async () => {
  await expect(follow(new ScriptedStream([1, 2, 3], []), 7)).rejects.toMatchObject({ code: 'Compacted' });
});

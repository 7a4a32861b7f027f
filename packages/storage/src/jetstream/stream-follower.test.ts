import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { headers, type ConsumerInfo, type Msg, type Subscription } from 'nats';
import { CompactedError } from '../errors.ts';
import type { ConsumerRequest, StreamClient } from './stream-client.ts';
import { Interruptions } from '../interruptions.ts';
import type { StreamFloor } from './stream-floor.ts';
import { StreamFollower } from './stream-follower.ts';

/** What becomes of one delivery: `lose` leaves it out, `late` sends it after the next one, `cut` breaks the connection. */
type Fate = 'arrive' | 'twice' | 'again-later' | 'lose' | 'late' | 'cut';

/** A stream of which messages are delivered well or badly, as a script says. */
class ScriptedStream {
  readonly closed = new AbortController();
  /** Sequences that are there. */
  readonly sequences: number[];
  readonly #fates: Fate[];
  #onMessage: (message: Msg) => void = () => undefined;
  #onLost: (() => void) | undefined;
  /** What the present consumer still has to deliver. */
  #rest: number[] = [];
  #number = 0;
  /** How far the present consumer has looked, when that is not to the end. */
  #looked: number | undefined;
  consumers = 0;
  /** Consumers and subscriptions that were given back. */
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
    const gone = (): void => {
      this.givenBack++;
      if (this.#onMessage === onMessage) this.#onMessage = () => undefined;
    };
    return { getSubject: () => 'inbox', unsubscribe: gone } as unknown as Subscription;
  }
  onLost(lost: () => void): () => void {
    this.#onLost = lost;
    return () => undefined;
  }
  removeConsumer(): void {
    this.givenBack++;
    this.#rest = [];
  }
  pull(): void {
    queueMicrotask(() => this.#deliver());
  }
  last(): Promise<unknown> {
    const sequence = this.sequences.at(-1);
    return Promise.resolve(sequence === undefined ? undefined : { sequence });
  }
  info(): Promise<unknown> {
    return Promise.resolve({ state: { last_seq: this.sequences.at(-1) ?? 0 } });
  }
  at(sequence: number): Promise<unknown> {
    return Promise.resolve(this.sequences.includes(sequence) ? { sequence, time: sequence } : undefined);
  }
  /** The present consumer stops before the last message. */
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
      if (fate === 'cut') this.#onLost?.();
      for (const one of later.splice(0)) this.#onMessage(one);
      if (fate === 'again-later') later.push(message);
    }
    for (const one of later) this.#onMessage(one);
    this.#onMessage(this.#heartbeat());
  }

  #message(sequence: number): Msg {
    // A server that counts messages which will never come, as NATS 2.9 does at times.
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

const kept = { assertKept: () => Promise.resolve() } as unknown as StreamFloor;

async function follow(
  stream: ScriptedStream,
  after: number,
  {
    floor = kept,
    interruptions = new Interruptions(),
    attempts,
  }: { floor?: StreamFloor; interruptions?: Interruptions; attempts?: number } = {},
): Promise<number[]> {
  const abort = new AbortController();
  const follower = new StreamFollower(
    { after, settled: after, filter: 's.>', attempts, signal: abort.signal },
    { client: stream as unknown as StreamClient, floor, interruptions },
  );
  const seen: number[] = [];
  for await (const { messages, sequence } of follower.batches()) {
    seen.push(...messages.map((message) => message.sequence));
    if (sequence >= (stream.sequences.at(-1) ?? 0)) break;
  }
  return seen;
}

test('deliveries that come twice, late, out of order or not at all: each message once, in order', async () => {
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

test('a reader that has seen enough at once leaves nothing behind', async () => {
  const stream = new ScriptedStream([1], []);
  expect(await follow(stream, 0)).toEqual([1]);
  expect([stream.consumers, stream.givenBack]).toEqual([1, 2]);
});

describe('who wants the present state has it', () => {
  const complete = async (stream: ScriptedStream, target: number): Promise<number[]> => {
    const { signal } = new AbortController();
    const options = { after: 0, settled: 0, filter: 's.>', target, signal };
    const client = stream as unknown as StreamClient;
    const follower = new StreamFollower(options, { client, floor: kept, interruptions: new Interruptions() });
    const seen: number[] = [];
    for await (const { messages, complete } of follower.batches()) {
      seen.push(...messages.map(({ sequence }) => sequence));
      if (complete) break;
    }
    return seen;
  };

  test('with the last message, whatever the server says of more', async () => {
    expect(await complete(new ScriptedStream([1, 2, 3], []), 3)).toEqual([1, 2, 3]);
  });

  test('at once where there is nothing', async () => {
    const stream = new ScriptedStream([], []);
    expect(await complete(stream, 0)).toEqual([]);
    expect(stream.consumers).toBe(0);
  });

  test('when the last message was removed before it came', async () => {
    expect(await complete(new ScriptedStream([1, 2], []), 3)).toEqual([1, 2]);
  });

  test('over another reader when one has nothing to send although there is something', async () => {
    const stream = new ScriptedStream([1, 2, 3], []);
    const add = stream.addConsumer.bind(stream);
    // The first consumer misses what came last, and says that it has sent everything.
    stream.addConsumer = async (request) => {
      const made = add(request);
      if (stream.consumers === 1) stream.withhold();
      return await made;
    };
    expect(await complete(stream, 3)).toEqual([1, 2, 3]);
    expect(stream.consumers).toBe(2);
  });
});

test('a loss at the very end shows in the next heartbeat', async () => {
  const stream = new ScriptedStream([1, 2, 3], ['arrive', 'arrive', 'lose']);
  expect(await follow(stream, 0)).toEqual([1, 2, 3]);
  expect(stream.consumers).toBe(2);
});

test('each reader that is lost is told, and how many were in a row', async () => {
  const told: string[] = [];
  const interruptions = new Interruptions({
    onInterruption: (error, failures) => told.push(`${(error as Error).message}: ${failures}`),
  });
  const stream = new ScriptedStream([1, 2], ['lose', 'lose', 'lose', 'lose', 'arrive', 'arrive']);
  expect(await follow(stream, 0, { interruptions })).toEqual([1, 2]);
  expect(told).toEqual(['message 1 of the consumer is missing: 1', 'message 1 of the consumer is missing: 2']);
});

test('who does not want to wait for ever is told that the stream cannot be read', async () => {
  const stream = new ScriptedStream([1, 2], []);
  stream.addConsumer = () => Promise.reject(Object.assign(new Error('no answer'), { code: 'TIMEOUT' }));
  await expect(follow(stream, 0, { attempts: 3 })).rejects.toMatchObject({
    code: 'Unavailable',
    message: 'the stream cannot be read: no answer',
  });
});

test('a floor that rose while a batch was on its way ends it before the batch is handed on', async () => {
  let floor = 0;
  const rising = {
    assertKept: (received: number) => {
      if (floor > received) return Promise.reject(new CompactedError(received, floor));
      floor = 6;
      return Promise.resolve();
    },
  } as unknown as StreamFloor;
  await expect(follow(new ScriptedStream([5, 7, 9], []), 4, { floor: rising })).rejects.toMatchObject({
    code: 'Compacted',
  });
});

test('a stream that ends before what was received is another one', async () => {
  await expect(follow(new ScriptedStream([1, 2, 3], []), 7)).rejects.toMatchObject({ code: 'Compacted' });
});

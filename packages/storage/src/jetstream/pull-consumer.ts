import type { ConsumerInfo, Msg, Subscription } from 'nats';
import { Signal } from '../signal.ts';
import { bufferOf, headerOf, type ConsumerRequest, type StoredMessage, type StreamClient } from './stream-client.ts';

/** What has come since the batch before. */
export interface ReadBatch {
  readonly messages: readonly StoredMessage[];
  /** Everything of the filter up to here has come; 0: nobody has said so. */
  readonly progress: number;
  /** The consumer has had nothing to send for a while; everything before has come. */
  readonly idle: boolean;
}

/** Something is wrong with the consumer or the way to it: another one goes on where this one stood. */
export class ReaderLostError extends Error {
  override readonly name = 'ReaderLostError';
}

const pull = { messages: 400, bytes: 4 << 20, expiresMs: 20_000, heartbeatMs: 1000 };
/** After so long without a word the consumer counts as gone. */
const silenceMs = 2500;

/**
 * One consumer, from its making to its end; no resuming.
 *
 * It is pulled: one request for a bounded batch is out at any time, the next one goes out when the batch before was
 * handed on. So a slow reader costs two batches and no connection, and a consumer that is gone, a server that has
 * forgotten the request and a broken connection all show as silence where heartbeats should be. Consumers number what they
 * send: a number too high is a loss, one that was there is a repetition and dropped.
 */
export class StreamReader {
  readonly #client: StreamClient;
  readonly #consumer: ConsumerInfo;
  readonly #subscription: Subscription;
  readonly #wake = new Signal();
  readonly #stopListening: () => void;
  #queue: StoredMessage[] = [];
  /** How far the consumer has looked through the stream when all before had come. */
  #progress = 0;
  #progressTold = 0;
  #idle = false;
  /** Number of the last message, as the consumer counts. */
  #delivered = 0;
  /** Messages that the request under way may still bring; 0: there is none. */
  #wanted = 0;
  #lost: Error | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(client: StreamClient, consumer: ConsumerInfo) {
    this.#client = client;
    this.#consumer = consumer;
    this.#subscription = client.subscribe((message) => this.#take(message));
    this.#stopListening = client.onLost(() => this.#fail('the connection was interrupted'));
  }

  static async open(client: StreamClient, request: ConsumerRequest): Promise<StreamReader> {
    return new StreamReader(client, await client.addConsumer(request));
  }

  /** What comes, in order, until the signal aborts. Throws {@link ReaderLostError}. */
  async *batches(signal: AbortSignal): AsyncGenerator<ReadBatch, void, undefined> {
    while (!signal.aborted) {
      if (this.#lost !== undefined && this.#queue.length === 0) throw this.#lost;
      if (this.#wanted === 0 && this.#lost === undefined) this.#pull();
      if (this.#queue.length === 0 && this.#progress === this.#progressTold && !this.#idle) {
        await this.#wake.wait(signal);
        continue;
      }
      const messages = this.#queue;
      this.#queue = [];
      this.#progressTold = this.#progress;
      const idle = this.#idle;
      this.#idle = false;
      yield { messages, progress: this.#progress, idle };
    }
  }

  /** Gives the consumer back. Whoever opened a reader closes it, whether or not it was read. */
  close(): void {
    clearTimeout(this.#timer);
    this.#lost ??= new ReaderLostError('closed');
    this.#stopListening();
    this.#subscription.unsubscribe();
    this.#client.removeConsumer(this.#consumer.name);
  }

  #pull(): void {
    this.#wanted = pull.messages;
    this.#client.pull(this.#consumer.name, this.#subscription.getSubject(), pull);
    this.#expectLife();
  }

  #take(message: Msg): void {
    if (this.#lost !== undefined) return;
    const delivered = deliveredMessage(message);
    if (delivered === undefined) {
      this.#takeStatus(message.headers?.code ?? 0, message);
      return;
    }
    const { number } = delivered;
    if (number <= this.#delivered) return;
    if (number !== this.#delivered + 1) {
      this.#fail(`message ${this.#delivered + 1} of the consumer is missing`);
      return;
    }
    this.#delivered = number;
    this.#wanted = Math.max(0, this.#wanted - 1);
    this.#queue.push(delivered.message);
    this.#expectLife();
    this.#wake.notify();
  }

  /** A heartbeat, the end of the request, or the end of the consumer. */
  #takeStatus(code: number, { headers }: Msg): void {
    if (code === 0) return;
    if (code === 100) {
      this.#takeHeartbeat(headerOf(headers));
      return;
    }
    const description = headers?.description ?? '';
    if (code === 503 || /consumer|leader|shutdown/i.test(description)) {
      this.#fail(`NATS has ended the consumer: ${code} ${description}`);
      return;
    }
    this.#wanted = 0;
    this.#wake.notify();
  }

  /** It says what was sent last, so a loss at the end shows as well, and how far the stream was looked through. */
  #takeHeartbeat(header: (name: string) => string): void {
    if (header('Nats-Last-Consumer') !== String(this.#delivered)) {
      this.#fail(`message ${this.#delivered + 1} of the consumer is missing`);
      return;
    }
    this.#expectLife();
    this.#progress = Math.max(this.#progress, Number(header('Nats-Last-Stream')));
    this.#idle = true;
    this.#wake.notify();
  }

  #expectLife(): void {
    clearTimeout(this.#timer);
    // A request that has brought everything is followed by the next one only when the reader comes back.
    if (this.#wanted === 0) return;
    this.#timer = setTimeout(() => this.#fail('the consumer has gone quiet'), silenceMs).unref();
  }

  #fail(why: string): void {
    this.#lost ??= new ReaderLostError(why);
    this.#wake.notify();
  }
}

interface Delivered {
  readonly message: StoredMessage;
  readonly number: number;
}

/** `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<times>.<sequence>.<number>.<nanoseconds>.<pending>[.<token>]` */
function deliveredMessage({ subject, reply, headers, data }: Msg): Delivered | undefined {
  const parts = (reply ?? '').split('.');
  if (parts[0] !== '$JS' || parts[1] !== 'ACK' || parts.length < 9) return undefined;
  const [sequence, number, nanoseconds] = (parts.length === 9 ? parts.slice(5) : parts.slice(7)) as [
    string,
    string,
    string,
  ];
  return {
    message: {
      subject,
      sequence: Number(sequence),
      time: Number(nanoseconds.slice(0, -6)),
      header: headerOf(headers),
      data: bufferOf(data),
    },
    number: Number(number),
  };
}

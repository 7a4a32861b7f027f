import type { ConsumerInfo, Msg, Subscription } from 'nats';
import { ConditionVariable } from '../condition-variable.ts';
import { bufferOf, headerOf, type ConsumerRequest, type StoredMessage, type StreamClient } from './stream-client.ts';

/** Messages since the previous batch. */
export interface ReadBatch {
  readonly messages: readonly StoredMessage[];
  /** Everything of the filter up to this sequence has arrived; 0: unknown. */
  readonly progress: number;
  /** The consumer had nothing to send for a heartbeat interval: everything before has arrived. */
  readonly idle: boolean;
}

/** The consumer or the connection to it failed: another consumer resumes after the last message. */
export class ConsumerLostError extends Error {
  override readonly name = 'ReaderLostError';
}

const pull = { messages: 400, bytes: 4 << 20, expiresMs: 20_000, heartbeatMs: 1000 };
/** After this time without a message or heartbeat the consumer counts as lost. */
const silenceMs = 2500;

/**
 * One JetStream pull consumer, from its creation to its end; StreamFollower resumes.
 *
 *   flow control  one request for a bounded batch is in flight at any time; the next one is sent when the previous batch
 *                 was taken. So a slow reader costs two batches of memory and no connection.
 *   liveness      a deleted consumer, a server that lost the request and a broken connection all show as missing heartbeats
 *   ordering      consumers number their messages: a gap is a loss, a repeated number is a redelivery and dropped
 */
export class PullConsumer {
  readonly #client: StreamClient;
  readonly #consumer: ConsumerInfo;
  readonly #subscription: Subscription;
  readonly #wake = new ConditionVariable();
  readonly #stopListening: () => void;
  #queue: StoredMessage[] = [];
  /** The stream sequence up to which the consumer has delivered everything. */
  #progress = 0;
  #deliveredProgress = 0;
  #idle = false;
  /** Consumer sequence of the last message. */
  #delivered = 0;
  /** Messages that the request in flight may still deliver; 0: there is no request. */
  #wanted = 0;
  #lost: Error | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(client: StreamClient, consumer: ConsumerInfo) {
    this.#client = client;
    this.#consumer = consumer;
    this.#subscription = client.subscribe((message) => this.#take(message));
    this.#stopListening = client.onDisconnect(() => this.#fail('the connection was interrupted'));
  }

  static async open(client: StreamClient, request: ConsumerRequest): Promise<PullConsumer> {
    return new PullConsumer(client, await client.addConsumer(request));
  }

  /** Messages in order until the signal aborts. Throws {@link ConsumerLostError}. */
  async *batches(signal: AbortSignal): AsyncGenerator<ReadBatch, void, undefined> {
    while (!signal.aborted) {
      if (this.#lost !== undefined && this.#queue.length === 0) throw this.#lost;
      if (this.#wanted === 0 && this.#lost === undefined) this.#pull();
      if (this.#queue.length === 0 && this.#progress === this.#deliveredProgress && !this.#idle) {
        await this.#wake.wait(signal);
        continue;
      }
      const messages = this.#queue;
      this.#queue = [];
      this.#deliveredProgress = this.#progress;
      const idle = this.#idle;
      this.#idle = false;
      yield { messages, progress: this.#progress, idle };
    }
  }

  /** Deletes the consumer. Required after {@link open}, also without reading. */
  close(): void {
    clearTimeout(this.#timer);
    this.#lost ??= new ConsumerLostError('closed');
    this.#stopListening();
    this.#subscription.unsubscribe();
    this.#client.removeConsumer(this.#consumer.name);
  }

  #pull(): void {
    this.#wanted = pull.messages;
    this.#client.pull(this.#consumer.name, this.#subscription.getSubject(), pull);
    this.#restartSilenceTimer();
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
    this.#restartSilenceTimer();
    this.#wake.notifyAll();
  }

  /** Handles a heartbeat, the end of the request, or the end of the consumer. */
  #takeStatus(code: number, { headers }: Msg): void {
    if (code === 0) return;
    if (code === 100) {
      this.#takeHeartbeat(headerOf(headers));
      return;
    }
    const description = headers?.description ?? '';
    if (code === 503 || /consumer|leader|shutdown/i.test(description)) {
      this.#fail(`NATS ended the consumer: ${code} ${description}`);
      return;
    }
    this.#wanted = 0;
    this.#wake.notifyAll();
  }

  /** A heartbeat has the last consumer sequence, which shows a loss at the end, and the stream sequence of the consumer. */
  #takeHeartbeat(header: (name: string) => string): void {
    if (header('Nats-Last-Consumer') !== String(this.#delivered)) {
      this.#fail(`message ${this.#delivered + 1} of the consumer is missing`);
      return;
    }
    this.#restartSilenceTimer();
    this.#progress = Math.max(this.#progress, Number(header('Nats-Last-Stream')));
    this.#idle = true;
    this.#wake.notifyAll();
  }

  #restartSilenceTimer(): void {
    clearTimeout(this.#timer);
    // After a complete batch the next request is sent when the reader takes it.
    if (this.#wanted === 0) return;
    this.#timer = setTimeout(() => this.#fail('the consumer does not respond'), silenceMs).unref();
  }

  #fail(why: string): void {
    this.#lost ??= new ConsumerLostError(why);
    this.#wake.notifyAll();
  }
}

interface Delivered {
  readonly message: StoredMessage;
  readonly number: number;
}

/** Ack subject: `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time ns>.<pending>[.<token>]` */
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

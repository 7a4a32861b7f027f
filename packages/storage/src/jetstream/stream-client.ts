import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AckPolicy,
  connect,
  type ConsumerInfo,
  createInbox,
  DeliverPolicy,
  Events,
  headers,
  type JetStreamClient,
  type JetStreamManager,
  type MsgHdrs,
  type NatsConnection,
  type StreamInfo,
  type Subscription,
  type Msg,
  type NatsError,
  ReplayPolicy,
  tokenAuthenticator,
} from 'nats';
import { errorText } from '@multiplane/apimachinery';
import { isStorageError, StorageUnavailableError } from '../errors.ts';
import type { NatsTarget } from '../nats-options.ts';
import { isTransient } from './stream-errors.ts';

/** Interval of pings; after two missing pongs the connection counts as lost. */
const pingIntervalMs = 5000;
const firstPauseMs = 20;
const longestPauseMs = 500;
const millisecond = 1e6;

export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  /** Time of the message in the stream, in milliseconds since the epoch. */
  readonly time: number;
  readonly header: (name: string) => string;
  readonly data: Buffer;
}

export interface Published {
  readonly subject: string;
  readonly data: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ConsumerRequest {
  readonly filter: string;
  /** First sequence to be delivered. */
  readonly from: number;
  /** Omits the bodies. */
  readonly headersOnly: boolean;
}

/** Limits of one pull request. */
export interface Pull {
  readonly messages: number;
  readonly bytes: number;
  readonly expiresMs: number;
  readonly heartbeatMs: number;
}

/**
 * Requests to one JetStream stream, each with a deadline, over one connection that reconnects by itself. Writes are not
 * retried here.
 */
export class StreamClient {
  readonly stream: string;
  readonly closed = new AbortController();
  readonly #connection: NatsConnection;
  readonly #publisher: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #timeoutMs: number;
  readonly #lost = new Set<() => void>();
  /** Prefix of the message ids of this process, by which NATS deduplicates writes. */
  readonly #writer = randomBytes(9).toString('base64url');
  #writes = 0;

  private constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    options: { readonly stream: string; readonly timeoutMs: number },
  ) {
    this.#connection = connection;
    this.#manager = manager;
    this.#publisher = connection.jetstream({ timeout: options.timeoutMs });
    this.#timeoutMs = options.timeoutMs;
    this.stream = options.stream;
    void this.#followConnection();
  }

  /** Throws StorageUnavailableError when no server can be reached. */
  static async connect(target: NatsTarget, timeoutMs: number): Promise<StreamClient> {
    const { tls, tokenFile } = target;
    let connection: NatsConnection | undefined;
    try {
      connection = await connect({
        servers: [...target.servers],
        timeout: timeoutMs,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 100,
        reconnectJitter: 50,
        reconnectJitterTLS: 50,
        pingInterval: pingIntervalMs,
        maxPingOut: 2,
        ignoreAuthErrorAbort: true,
        // Otherwise the client creates an Error with a stack for every request: 4.6 % of the CPU time of a publishing
        // shard in hack/bench/replication.bench.ts.
        noAsyncTraces: true,
        ...(tls === undefined
          ? {}
          : {
              tls: {
                caFile: tls.caFile,
                ...(tls.certFile === undefined ? {} : { certFile: tls.certFile }),
                ...(tls.keyFile === undefined ? {} : { keyFile: tls.keyFile }),
              },
            }),
        ...(tokenFile === undefined
          ? {}
          : { authenticator: tokenAuthenticator(() => readFileSync(tokenFile, 'utf8').trim()) }),
      });
      const manager = await connection.jetstreamManager({ timeout: timeoutMs });
      return new StreamClient(connection, manager, { stream: target.stream, timeoutMs });
    } catch (error) {
      await connection?.close();
      throw new StorageUnavailableError(`failed to connect to NATS: ${errorText(error)}`, error);
    }
  }

  /** The largest message that the server accepts, including headers. */
  get maxMessageBytes(): number {
    return this.#connection.info?.max_payload ?? 1 << 20;
  }

  info(timeoutMs?: number): Promise<StreamInfo> {
    return this.read(() => this.#manager.streams.info(this.stream), timeoutMs);
  }

  addStream(subject: string, replicas: number): Promise<StreamInfo> {
    const added = this.#manager.streams.add({
      name: this.stream,
      subjects: [subject],
      max_msgs_per_subject: 1,
      num_replicas: replicas,
      duplicate_window: 120_000 * millisecond,
      description: 'Replicated objects of all shards',
    });
    return this.#failOnDisconnect(added);
  }

  /** Replaces the subjects of the stream. */
  async setSubjects(subjects: string): Promise<void> {
    await this.#failOnDisconnect(this.#manager.streams.update(this.stream, { subjects: [subjects] }));
  }

  /** Deletes the stream with everything in it. */
  async deleteStream(): Promise<void> {
    await this.#failOnDisconnect(this.#manager.streams.delete(this.stream));
  }

  /** Removes everything before the sequence; later messages get at least this sequence. */
  async purgeBefore(sequence: number): Promise<void> {
    await this.#failOnDisconnect(this.#manager.streams.purge(this.stream, { seq: sequence }));
  }

  /** The last message of a subject, read from the leader of the stream; undefined when there is none. */
  lastMessage(subject: string): Promise<StoredMessage | undefined> {
    return this.#message({ last_by_subj: subject });
  }

  /** The message at a sequence; undefined when it was removed. */
  messageAt(sequence: number): Promise<StoredMessage | undefined> {
    return this.#message({ seq: sequence });
  }

  /** A message id; NATS stores messages with the same id once. */
  nextWriteId(): string {
    return `${this.#writer}.${(this.#writes++).toString(36)}`;
  }

  /** A single attempt; returns the sequence. */
  async publish({ subject, data, headers: values }: Published): Promise<number> {
    this.assertOpen();
    const header = headers();
    for (const [name, value] of Object.entries(values)) header.set(name, value);
    const answer = this.#publisher.publish(subject, data, { headers: header, timeout: this.#timeoutMs });
    return (await this.#failOnDisconnect(answer)).seq;
  }

  /** Removes a message; false when it does not exist. */
  async remove(sequence: number): Promise<boolean> {
    try {
      return await this.#failOnDisconnect(this.#manager.streams.deleteMessage(this.stream, sequence, false));
    } catch (error) {
      if ((error as NatsError).api_error?.err_code === noMessageToRemove) return false;
      throw error;
    }
  }

  /** An ephemeral consumer, which NATS deletes when it is not pulled. */
  addConsumer({ filter, from, headersOnly }: ConsumerRequest): Promise<ConsumerInfo> {
    this.assertOpen();
    const consumer = this.#manager.consumers.add(this.stream, {
      ack_policy: AckPolicy.None,
      replay_policy: ReplayPolicy.Instant,
      ...(from > 1
        ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from }
        : { deliver_policy: DeliverPolicy.All }),
      filter_subject: filter,
      ...(headersOnly ? { headers_only: true } : {}),
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: 60_000 * millisecond,
    });
    return this.#failOnDisconnect(consumer);
  }

  removeConsumer(name: string): void {
    // NATS deletes the consumer later when this request is lost.
    if (!this.#connection.isClosed()) this.#manager.consumers.delete(this.stream, name).catch(() => undefined);
  }

  /** Subscribes an inbox for the responses of pull requests. */
  subscribe(onMessage: (message: Msg) => void): Subscription {
    this.assertOpen();
    return this.#connection.subscribe(createInbox(), {
      callback: (error, message) => {
        if (error === null) onMessage(message);
      },
    });
  }

  pull(consumer: string, inbox: string, pull: Pull): void {
    const request = {
      batch: pull.messages,
      max_bytes: pull.bytes,
      expires: pull.expiresMs * millisecond,
      idle_heartbeat: pull.heartbeatMs * millisecond,
    };
    this.#connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${this.stream}.${consumer}`, JSON.stringify(request), {
      reply: inbox,
    });
  }

  /** Calls `lost` when the connection breaks: requests in flight get no response. Returns a function that unsubscribes. */
  onDisconnect(lost: () => void): () => void {
    this.#lost.add(lost);
    return () => this.#lost.delete(lost);
  }

  /** Retries an idempotent request until it succeeds, is refused, or the timeout has passed. */
  async read<T>(call: () => Promise<T>, timeoutMs = this.#timeoutMs): Promise<T> {
    const end = performance.now() + timeoutMs;
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      this.assertOpen();
      try {
        return await withDeadline(this.#failOnDisconnect(call()), end - performance.now());
      } catch (error) {
        if (this.closed.signal.aborted) throw new StorageUnavailableError('the store is closed', error);
        if (!isTransient(error)) throw refusal(error);
        if (performance.now() + pause >= end) {
          throw new StorageUnavailableError(`NATS does not respond: ${errorText(error)}`, error);
        }
        await this.pause(pause);
      }
    }
  }

  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.closed.signal, ref: false }).catch(() => undefined);
  }

  assertOpen(): void {
    if (this.closed.signal.aborted) throw new StorageUnavailableError('the store is closed');
  }

  async close(): Promise<void> {
    if (this.closed.signal.aborted) return;
    this.closed.abort();
    await this.#connection.close();
  }

  /** Fails when the connection breaks: the response is lost, and the client would wait for its timeout. */
  async #failOnDisconnect<T>(answer: Promise<T>): Promise<T> {
    const lost = Promise.withResolvers<never>();
    const stop = this.onDisconnect(() =>
      lost.reject(Object.assign(new Error('the connection to NATS was interrupted'), { code: 'DISCONNECT' })),
    );
    try {
      return await Promise.race([answer, lost.promise]);
    } finally {
      stop();
      answer.catch(() => undefined);
    }
  }

  async #message(
    query: { readonly seq: number } | { readonly last_by_subj: string },
  ): Promise<StoredMessage | undefined> {
    try {
      const message = await this.read(() => this.#manager.streams.getMessage(this.stream, query));
      return {
        subject: message.subject,
        sequence: message.seq,
        time: message.time.getTime(),
        header: headerOf(message.header),
        data: bufferOf(message.data),
      };
    } catch (error) {
      if (!isStorageError(error) && (error as NatsError).api_error?.err_code === noMessageFound) return undefined;
      throw error;
    }
  }

  async #followConnection(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === Events.Disconnect || type === Events.Reconnect) for (const lost of this.#lost) lost();
    }
  }
}

const noMessageFound = 10037;
const noMessageToRemove = 10057;

/** JetStream API errors are interpreted by the caller; other errors become StorageUnavailableError. */
function refusal(error: unknown): unknown {
  if ((error as Partial<NatsError>).api_error !== undefined || isStorageError(error)) return error;
  return new StorageUnavailableError(`NATS refused the request: ${errorText(error)}`, error);
}

/** Headers of a message by name; '' for a missing header. */
export function headerOf(all: MsgHdrs | undefined): (name: string) => string {
  return (name) => all?.get(name) ?? '';
}

/** A view of the same bytes. */
export function bufferOf(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** The timeouts of the NATS client do not run while it is disconnected. */
async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('timed out'), { code: 'TIMEOUT' })), Math.max(ms, 1));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

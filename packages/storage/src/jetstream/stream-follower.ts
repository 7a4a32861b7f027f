import { errorText } from '@multiplane/apimachinery';
import { CompactedError, isStorageError, StorageUnavailableError } from '../errors.ts';
import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { StoredMessage, StreamClient } from './stream-client.ts';
import { isStreamMissing, isTransient } from './stream-errors.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import { ConsumerLostError, PullConsumer } from './pull-consumer.ts';

export interface StreamFollowerOptions {
  /** The last sequence that the reader has. */
  readonly after: number;
  /** Missing deletes up to this sequence are accepted: the reader starts without the deleted objects. */
  readonly acceptedDeletes: number;
  readonly filter: string;
  /** The last sequence of the filter when the read started; a reader that has reached it is complete. */
  readonly target?: number | undefined;
  readonly headersOnly?: boolean | undefined;
  /** Checks the stream beyond the watermark. */
  readonly audit?: StreamAudit | undefined;
  /** Gives up after this many consecutive interruptions; default never. */
  readonly attempts?: number | undefined;
  readonly signal: AbortSignal;
}

/** A check that a follower runs between batches, and every second while it is idle. */
export interface StreamAudit {
  /** `received`: the caller has applied everything up to this sequence. Throws CompactedError when it has to list again. */
  check(received: number): Promise<void>;
  /** The follower has ended. */
  close(): void;
}

export interface StreamFollowerModules {
  readonly client: StreamClient;
  readonly watermark: CompactionWatermark;
  readonly watchFailures: WatchFailureReporter;
}

/** Messages in sequence order, each once. */
export interface FollowedBatch {
  readonly messages: readonly StoredMessage[];
  /** Everything of the filter up to this sequence was delivered. */
  readonly sequence: number;
  /** The target is reached: everything that existed when the read started was delivered or has been replaced. */
  readonly complete: boolean;
}

const firstPauseMs = 20;
const longestPauseMs = 2000;
/** Heartbeats of an idle consumer, one per second, between two checks of the stream. */
const beatsPerCheck = 5;

/**
 * Reads a stream from a sequence on, across any number of pull consumers. Each lost consumer is reported.
 *
 *   resume       `received` is the last sequence that arrived. The next consumer starts after it, and messages up to it are
 *                dropped, so each message is delivered once.
 *   watermark    is read after a batch arrived and before it is delivered. The stream keeps the last message of each
 *                subject: of several changes only the latest arrives, and a delete is a tombstone until it is swept, which
 *                raises the watermark first. A watermark above the `received` of before the batch means that a delete may
 *                be missing: CompactedError. The same holds for a recreated stream, whose watermark is above all sequences
 *                of its predecessor.
 *   target       a reader of the current state first looks up the last message. The pending count of NATS cannot be used:
 *                when messages are replaced while a consumer is created, NATS 2.9 counts messages as pending that never
 *                arrive. A target that was removed or replaced does not arrive either, so it is looked up again when the
 *                consumer is idle.
 *   lost writes  a server that lost its last writes assigns their sequences again. A stream that ends before `received`, or
 *                has another message there, is not the one that was read: CompactedError.
 *   purge        NATS removes messages without telling its consumers, so an idle reader checks watermark and end of the stream
 *                every few seconds. A purge by subject may spare the watermark: LostMessageDetector, RelistOnRequest.
 */
export class StreamFollower {
  readonly #client: StreamClient;
  readonly #watermark: CompactionWatermark;
  readonly #watchFailures: WatchFailureReporter;
  readonly #options: StreamFollowerOptions;
  readonly #signal: AbortSignal;
  #received: number;
  /** Time of the message at `#received`; undefined when it does not match the filter or was not read here. */
  #receivedTime: number | undefined;
  /** Consecutive idle heartbeats. */
  #idleBeats = 0;

  constructor(options: StreamFollowerOptions, modules: StreamFollowerModules) {
    this.#options = options;
    this.#client = modules.client;
    this.#watermark = modules.watermark;
    this.#watchFailures = modules.watchFailures;
    this.#received = options.after;
    this.#signal = AbortSignal.any([options.signal, modules.client.closed.signal]);
  }

  /** Ends when the signal aborts. Throws CompactedError; StorageUnavailableError when the store is closed or it gives up. */
  async *batches(): AsyncGenerator<FollowedBatch, void, undefined> {
    try {
      yield* this.#untilAborted();
    } finally {
      this.#watchFailures.recovered(this);
      this.#options.audit?.close();
    }
    if (!this.#options.signal.aborted) throw new StorageUnavailableError('the store is closed');
  }

  async *#untilAborted(): AsyncGenerator<FollowedBatch, void, undefined> {
    const { attempts = Infinity } = this.#options;
    let pause = 0;
    let failures = 0;
    while (!this.#signal.aborted) {
      try {
        for await (const batch of this.#once()) {
          pause = 0;
          failures = 0;
          this.#watchFailures.recovered(this);
          yield batch;
        }
      } catch (error) {
        if (this.#signal.aborted) break;
        if (!isInterruption(error)) throw error;
        if (++failures === attempts)
          throw new StorageUnavailableError(`failed to read the stream: ${errorText(error)}`, error);
        this.#watchFailures.failed(this, error);
        await this.#client.pause(pause);
        pause = Math.min(Math.max(pause * 2, firstPauseMs), longestPauseMs);
      }
    }
  }

  async *#once(): AsyncGenerator<FollowedBatch, void, undefined> {
    const { filter, target, headersOnly = false } = this.#options;
    await this.#assertSame();
    if (target !== undefined && this.#received >= target)
      yield { messages: [], sequence: this.#received, complete: true };
    const from = this.#received + 1;
    const reader = await PullConsumer.open(this.#client, { filter, from, headersOnly });
    try {
      yield* this.#read(reader);
    } finally {
      reader.close();
    }
  }

  async *#read(reader: PullConsumer): AsyncGenerator<FollowedBatch, void, undefined> {
    const { target = 0, audit } = this.#options;
    for await (const { messages, progress, idle } of reader.batches(this.#signal)) {
      await this.#checkIdle(idle);
      const before = this.#received;
      const fresh = messages.filter(({ sequence }) => sequence > before);
      const last = fresh.at(-1);
      const sequence = Math.max(last?.sequence ?? 0, progress, before);
      const isWaiting = before < target;
      const complete = sequence >= target || (idle && (await this.#last()) <= sequence);
      if (idle && !complete) throw new ConsumerLostError('the consumer does not deliver existing messages');
      if (sequence === before && !(isWaiting && complete)) {
        await audit?.check(before);
        continue;
      }
      await this.#assertNotCompacted(before);
      if (sequence > before) {
        this.#received = sequence;
        this.#receivedTime = sequence === last?.sequence ? last.time : undefined;
      }
      yield { messages: fresh, sequence, complete };
      await audit?.check(this.#received);
    }
  }

  async #checkIdle(idle: boolean): Promise<void> {
    this.#idleBeats = idle ? this.#idleBeats + 1 : 0;
    if (this.#idleBeats < beatsPerCheck) return;
    this.#idleBeats = 0;
    await this.#assertSame();
  }

  async #last(): Promise<number> {
    return (await this.#client.lastMessage(this.#options.filter))?.sequence ?? 0;
  }

  async #assertNotCompacted(received: number): Promise<void> {
    await this.#watermark.assertNotCompacted(Math.max(received, this.#options.acceptedDeletes));
  }

  async #assertSame(): Promise<void> {
    await this.#assertNotCompacted(this.#received);
    if (this.#received === 0) return;
    const { state } = await this.#client.info();
    if (state.last_seq < this.#received) throw new CompactedError(this.#received, state.last_seq);
    if (this.#receivedTime === undefined) return;
    const message = await this.#client.messageAt(this.#received);
    if (message !== undefined && message.time !== this.#receivedTime)
      throw new CompactedError(this.#received, state.last_seq);
  }
}

/** True when another consumer may succeed: everything except a response of the stream itself. */
function isInterruption(error: unknown): boolean {
  if (error instanceof ConsumerLostError || isStreamMissing(error)) return true;
  if (isStorageError(error)) return error.code === 'Unavailable';
  return isTransient(error) || (error instanceof Error && error.name === 'NatsError');
}

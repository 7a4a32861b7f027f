import { errorText } from '@multiplane/apimachinery';
import { CompactedError, isStorageError, StorageUnavailableError } from '../errors.ts';
import type { Interruptions } from '../interruptions.ts';
import type { StoredMessage, StreamClient } from './stream-client.ts';
import { isStreamMissing, isTransient } from './stream-errors.ts';
import type { StreamFloor } from './stream-floor.ts';
import { ReaderLostError, StreamReader } from './stream-reader.ts';

export interface FollowOptions {
  /** Everything up to here is known. */
  readonly after: number;
  /** Removals up to here need not be told: what the reader starts from does not have the objects. */
  readonly settled: number;
  readonly filter: string;
  /** The last message of the filter when somebody looked: whoever has come so far is complete. */
  readonly target?: number | undefined;
  readonly headersOnly?: boolean | undefined;
  /** Gives up after so many interruptions in a row; never unless told otherwise. */
  readonly attempts?: number | undefined;
  readonly signal: AbortSignal;
}

export interface StreamFollowerModules {
  readonly client: StreamClient;
  readonly floor: StreamFloor;
  readonly interruptions: Interruptions;
}

/** Messages in order of their sequences, each once. */
export interface FollowedBatch {
  readonly messages: readonly StoredMessage[];
  /** Everything of the filter up to here has come. */
  readonly sequence: number;
  /** The target is reached: what was there when somebody looked has come, or is not there any more. */
  readonly complete: boolean;
}

const firstPauseMs = 20;
const longestPauseMs = 2000;

/**
 * The stream from one sequence on, over as many readers as it takes; each that is lost is told.
 *
 *   `received`   the last sequence that came; the next reader begins behind it, and what comes at or below it again is
 *                dropped: each message comes once
 *   check        after a batch has come, and before it is handed on, the floor is read. The stream keeps only the last
 *                message of each subject, so what changed twice in between comes once, with its latest state; a removal
 *                stands as a tombstone until it is swept, and sweeping raises the floor first. A floor above `received`
 *                before the batch therefore means that a removal may be missing: CompactedError. The same holds for
 *                a stream made anew, whose floor lies above everything of the one before.
 *   target       whoever wants the present state, and no more, looks first which message is the last. What NATS tells of
 *                messages still pending is no measure: where messages are replaced while a consumer is made, NATS 2.9
 *                counts some for ever that will not come, and a reader that waits for none would never be done. A target that
 *                was removed or replaced never comes: so where a consumer has nothing to send, it is looked for again.
 *   went back    a server that lost its last writes would give their sequences out again. A stream that ends before
 *                `received`, or has another message there, is not the one that was read: CompactedError.
 */
export class StreamFollower {
  readonly #client: StreamClient;
  readonly #floor: StreamFloor;
  readonly #interruptions: Interruptions;
  readonly #options: FollowOptions;
  readonly #signal: AbortSignal;
  #received: number;
  /** When the message at `#received` was written; undefined when it is none of the filter, or was not read here. */
  #receivedTime: number | undefined;

  constructor(options: FollowOptions, modules: StreamFollowerModules) {
    this.#options = options;
    this.#client = modules.client;
    this.#floor = modules.floor;
    this.#interruptions = modules.interruptions;
    this.#received = options.after;
    this.#signal = AbortSignal.any([options.signal, modules.client.closed.signal]);
  }

  /** Ends when the signal aborts. Throws CompactedError; StorageUnavailableError when the store is closed, or it gives up. */
  async *batches(): AsyncGenerator<FollowedBatch, void, undefined> {
    try {
      yield* this.#untilAborted();
    } finally {
      this.#interruptions.over(this);
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
          this.#interruptions.over(this);
          yield batch;
        }
      } catch (error) {
        if (this.#signal.aborted) break;
        if (!isInterruption(error)) throw error;
        if (++failures === attempts)
          throw new StorageUnavailableError(`the stream cannot be read: ${errorText(error)}`, error);
        this.#interruptions.happened(this, error);
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
    const reader = await StreamReader.open(this.#client, { filter, from, headersOnly });
    try {
      yield* this.#read(reader);
    } finally {
      reader.close();
    }
  }

  async *#read(reader: StreamReader): AsyncGenerator<FollowedBatch, void, undefined> {
    const { target = 0 } = this.#options;
    for await (const { messages, progress, idle } of reader.batches(this.#signal)) {
      const before = this.#received;
      const fresh = messages.filter(({ sequence }) => sequence > before);
      const last = fresh.at(-1);
      const sequence = Math.max(last?.sequence ?? 0, progress, before);
      const isWaiting = before < target;
      const complete = sequence >= target || (idle && (await this.#last()) <= sequence);
      if (idle && !complete) throw new ReaderLostError('the consumer does not send what is there');
      if (sequence === before && !(isWaiting && complete)) continue;
      await this.#assertKept(before);
      if (sequence > before) {
        this.#received = sequence;
        this.#receivedTime = sequence === last?.sequence ? last.time : undefined;
      }
      yield { messages: fresh, sequence, complete };
    }
  }

  async #last(): Promise<number> {
    return (await this.#client.last(this.#options.filter))?.sequence ?? 0;
  }

  async #assertKept(received: number): Promise<void> {
    await this.#floor.assertKept(Math.max(received, this.#options.settled));
  }

  async #assertSame(): Promise<void> {
    await this.#assertKept(this.#received);
    if (this.#received === 0) return;
    const { state } = await this.#client.info();
    if (state.last_seq < this.#received) throw new CompactedError(this.#received, state.last_seq);
    if (this.#receivedTime === undefined) return;
    const message = await this.#client.at(this.#received);
    if (message !== undefined && message.time !== this.#receivedTime)
      throw new CompactedError(this.#received, state.last_seq);
  }
}

/** What another reader may get over: everything but an answer of the store itself. */
function isInterruption(error: unknown): boolean {
  if (error instanceof ReaderLostError || isStreamMissing(error)) return true;
  if (isStorageError(error)) return error.code === 'Unavailable';
  return isTransient(error) || (error instanceof Error && error.name === 'NatsError');
}

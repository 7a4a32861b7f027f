import { errorText } from '@multiplane/apimachinery';
import { CompactedError, StorageUnavailableError, StorageUnusableError } from '../errors.ts';
import type { StreamInfo } from 'nats';
import type { StreamClient } from './stream-client.ts';
import { classifyWrite, isStreamMissing, isTransient } from './stream-errors.ts';
import type { StreamSubjects } from './stream-subjects.ts';

/** The positions that a watermark message records. */
export interface WatermarkPosition {
  /** Deletes up to this sequence may be missing in the stream. */
  readonly compacted: number;
  /** There are no tombstones up to this sequence. */
  readonly swept: number;
}

/** The watermark message of a stream. */
export interface Watermark extends WatermarkPosition {
  /** Sequence of the message. */
  readonly sequence: number;
  /** Time of the message, in milliseconds since the epoch. */
  readonly time: number;
}

/** Sequences per millisecond since the epoch at which a new stream starts: more than any server can write. */
const sequencesPerMillisecond = 1000;
/** Attempts to write the first watermark; a stream that is being created may refuse some. */
const ensureAttempts = 4;
/** Calls in a row that find the same stream unreachable, until it is deleted. */
const mostUnreachable = 3;
/** Attempts to create the stream. */
const createAttempts = 4;

/**
 * Creates the stream, and records which deletes it no longer contains.
 *
 * **Epoch.** A stream that was lost and recreated must never assign a revision of its predecessor. So the sequences of a
 * new stream start at its creation time in microseconds (purging an empty stream up to a sequence moves its start there).
 * No stream stores a million messages per second for its whole life, so the sequences of its successor are greater. Every
 * process derives the start from `created` of the stream, so the operation is idempotent and needs no coordination. Until
 * then the stream only accepts the watermark: another write before the start would get an old revision, and would be
 * purged after its acknowledgement. The watermark also has the first sequence, because a server that crashes may lose a
 * purge, but not a message (docs/adr/0030-time-based-stream-revisions.md).
 *
 * **Watermark.** A hidden message records the sequence up to which deletes may be missing: in a new stream everything
 * before its start or its last purge, later the swept tombstones. It is written before anything is removed. So a reader that has everything
 * up to p, receives a batch, and then reads a watermark ≤ p has missed no delete; otherwise it gets CompactedError (410).
 *
 * **Unreachable stream.** NATS can keep a stream that was deleted while another process recreated it (2.9.10): it is listed,
 * but its subjects have no subscriber, or one that acknowledges messages that cannot be read. That ends when it is deleted
 * once more, and loses nothing that could be read. Servers of a NATS cluster are left alone: there a stream without a leader
 * looks the same.
 */
export class CompactionWatermark {
  readonly #client: StreamClient;
  readonly #subjects: StreamSubjects;
  readonly #replicas: number;
  #ensuring: Promise<Watermark> | undefined;
  /** The last stream that did not accept the watermark: its creation, and how many calls found it so. */
  #unreachable = { created: '', calls: 0 };

  constructor(
    { replicas }: { readonly replicas: number },
    { client, subjects }: { readonly client: StreamClient; readonly subjects: StreamSubjects },
  ) {
    this.#client = client;
    this.#subjects = subjects;
    this.#replicas = replicas;
  }

  /** The current watermark; creates a missing stream. */
  async read(): Promise<Watermark> {
    return (await this.#find()) ?? (await this.ensure());
  }

  /** Runs a read; when the stream does not exist, creates it and runs the read again. */
  async withStream<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!isStreamMissing(error)) throw error;
      await this.ensure();
      return await read();
    }
  }

  /** Creates what is missing: the stream, its start, its watermark. Throws StorageUnusableError for another configuration. */
  ensure(): Promise<Watermark> {
    this.#ensuring ??= this.#ensure().finally(() => (this.#ensuring = undefined));
    return this.#ensuring;
  }

  /** Compare-and-set on the message of `known`; true when `next` was written. */
  async write(known: Watermark, next: WatermarkPosition): Promise<boolean> {
    return (await this.#publish(known.sequence, next)) === 'written';
  }

  /** Raises `compacted` at least to a sequence. */
  async raise(compacted: number): Promise<void> {
    for (;;) {
      const known = await this.read();
      if (known.compacted >= compacted || (await this.write(known, { compacted, swept: known.swept }))) return;
    }
  }

  /** Throws CompactedError when a reader that has everything up to `received` may have missed a delete. */
  async assertNotCompacted(received: number): Promise<void> {
    const { compacted } = await this.read();
    if (compacted > received) throw new CompactedError(received, compacted);
  }

  async #find(): Promise<Watermark | undefined> {
    try {
      const message = await this.#client.lastMessage(this.#subjects.watermark);
      if (message === undefined) return undefined;
      const { sequence, time } = message;
      const { floor: compacted, swept } = JSON.parse(message.data.toString()) as WatermarkData;
      return { compacted, swept, sequence, time };
    } catch (error) {
      if (isStreamMissing(error)) return undefined;
      throw error;
    }
  }

  async #ensure(attempt = 1): Promise<Watermark> {
    const { created, state, config, cluster } = await this.#findOrCreateStream();
    const isOpen = config.subjects.includes(this.#subjects.all);
    const isNew = config.subjects.length === 1 && config.subjects[0] === this.#subjects.watermark;
    if (config.max_msgs_per_subject !== 1 || config.max_age !== 0 || !(isOpen || isNew)) {
      throw new StorageUnusableError(
        `the stream ${this.#client.stream} has an incompatible configuration: it must keep one message per subject without an age limit and have the subjects ${this.#subjects.all}`,
      );
    }
    const start = Math.trunc(Date.parse(created) * sequencesPerMillisecond);
    if (state.last_seq < start - 1) await this.#client.purgeBefore(start);
    let found = await this.#find();
    if (found === undefined) {
      // A stream without a watermark is new, or was purged: then it has lost any object and delete, also for a reader that has
      // its last message. A list has at least the sequence of the watermark, so it is not concerned.
      const compacted = state.last_seq < start ? start - 1 : state.last_seq + 1;
      const outcome = await this.#publish(0, { compacted, swept: start - 1 });
      found = await this.#find();
      if (found === undefined) {
        if (attempt === ensureAttempts) {
          const isLost = outcome === 'written' || outcome === 'no-stream';
          if (isLost && cluster === undefined) await this.#deleteUnreachable(created);
          throw new StorageUnavailableError(`the stream ${this.#client.stream} does not accept messages`);
        }
        await this.#client.pause(50 << attempt);
        found = await this.#ensure(attempt + 1);
      }
    }
    if (!isOpen) await this.#client.setSubjects(this.#subjects.all);
    return found;
  }

  /** Deletes a stream that has refused the watermark several times; the next call creates it anew. */
  async #deleteUnreachable(created: string): Promise<void> {
    const known = this.#unreachable;
    const calls = known.created === created ? known.calls + 1 : 1;
    this.#unreachable = { created, calls };
    if (calls < mostUnreachable) return;
    this.#unreachable = { created: '', calls: 0 };
    // Another process may have deleted it, and a third one created the next.
    const now = await this.#client.info();
    if (now.created === created) await this.#client.deleteStream();
  }

  async #findOrCreateStream(): Promise<StreamInfo> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#client.info();
      } catch (error) {
        if (!isStreamMissing(error)) throw error;
      }
      try {
        return await this.#client.addStream(this.#subjects.watermark, this.#replicas);
      } catch (error) {
        // Another process may have created it concurrently.
        if (attempt === createAttempts) {
          // A transient error does not mean that the stream cannot be created.
          const Failure = isTransient(error) ? StorageUnavailableError : StorageUnusableError;
          throw new Failure(`failed to create the stream ${this.#client.stream}: ${errorText(error)}`, error);
        }
        await this.#client.pause(25 << attempt);
      }
    }
  }

  /** `conflict`: the subject has another message; after a lost response it may also be this one. */
  async #publish(
    expected: number,
    { compacted, swept }: WatermarkPosition,
  ): Promise<'written' | 'conflict' | 'unknown' | 'no-stream'> {
    const data: WatermarkData = { floor: compacted, swept };
    try {
      await this.#client.publish({
        subject: this.#subjects.watermark,
        data: Buffer.from(JSON.stringify(data)),
        headers: { 'Nats-Expected-Last-Subject-Sequence': String(expected) },
      });
      return 'written';
    } catch (error) {
      const { kind } = classifyWrite(error, this.#subjects.watermark);
      if (kind === 'refused') throw error;
      return kind;
    }
  }
}

/** The body of the watermark message. */
interface WatermarkData {
  /** {@link WatermarkPosition.compacted} */
  readonly floor: number;
  readonly swept: number;
}

import { errorText } from '@multiplane/apimachinery';
import { CompactedError, StorageUnavailableError, StorageUnusableError } from '../errors.ts';
import type { StreamInfo } from 'nats';
import type { StreamClient } from './stream-client.ts';
import { classifyWrite, isStreamMissing, isTransient } from './stream-errors.ts';
import type { StreamSubjects } from './stream-subjects.ts';

/** What the stream says of itself. */
export interface Floor {
  /** Removals up to here may be missing in the stream. */
  readonly floor: number;
  /** No tombstone stands at or below this sequence. */
  readonly swept: number;
  /** Of the message that says so. */
  readonly sequence: number;
  /** When it was written, in milliseconds since the epoch. */
  readonly time: number;
}

/** Sequences begin at so many per millisecond of the time of the stream's making: more than any server can write. */
const sequencesPerMillisecond = 1000;
/** Tries to write the floor of a stream that has none; a stream that is being made may refuse the first ones. */
const ensureAttempts = 4;

/**
 * Makes the stream, and keeps account of what it has forgotten.
 *
 * **Epoch.** A stream that was lost and made anew must never answer a revision of the one before. So no revision is ever
 * given out twice: a new stream's sequences begin at its own time of making in microseconds (purging an empty stream
 * up to a sequence moves its beginning there). No stream writes a million messages a second for all its life, so those
 * of its successor lie above. Everybody derives the beginning from the `created` of the stream, so it does not matter
 * who comes first, and doing it again changes nothing. Until then the stream takes nothing but the floor: a write that
 * came before its beginning would get a revision of long ago, and be purged after it was acknowledged. And the floor has
 * the first sequence: a server that dies forgets a purge, but not a message.
 *
 * **Floor.** One hidden message says up to which sequence removals may be missing: in a new stream all before its
 * beginning, later those whose tombstones were swept. It is written *before* anything is removed. So whoever has received
 * all up to p, then receives a batch, then reads a floor ≤ p, has missed no removal; and else must start over (410).
 */
export class StreamFloor {
  readonly #client: StreamClient;
  readonly #subjects: StreamSubjects;
  readonly #replicas: number;
  #making: Promise<Floor> | undefined;

  constructor({ replicas }: { readonly replicas: number }, client: StreamClient, subjects: StreamSubjects) {
    this.#client = client;
    this.#subjects = subjects;
    this.#replicas = replicas;
  }

  /** As it is now; makes a stream that is missing. */
  async read(): Promise<Floor> {
    return (await this.#find()) ?? (await this.ensure());
  }

  /** Runs a read, and again when it has found no stream and one was made. */
  async during<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!isStreamMissing(error)) throw error;
      await this.ensure();
      return await read();
    }
  }

  /** Makes what is missing: the stream, its beginning, its floor. */
  ensure(): Promise<Floor> {
    this.#making ??= this.#ensure().finally(() => (this.#making = undefined));
    return this.#making;
  }

  /** Writes another floor unless somebody else has written one since `known`; true when this one stands. */
  async write(known: Floor, next: { readonly floor: number; readonly swept: number }): Promise<boolean> {
    return await this.#publish(known.sequence, next);
  }

  /** Raises the floor at least to a sequence. */
  async raise(floor: number): Promise<void> {
    for (;;) {
      const known = await this.read();
      if (known.floor >= floor || (await this.write(known, { floor, swept: known.swept }))) return;
    }
  }

  /** Throws CompactedError when somebody who has everything up to `received` may have missed a removal. */
  async assertKept(received: number): Promise<void> {
    const { floor } = await this.read();
    if (floor > received) throw new CompactedError(received, floor);
  }

  async #find(): Promise<Floor | undefined> {
    try {
      const message = await this.#client.last(this.#subjects.floor);
      if (message === undefined) return undefined;
      const { sequence, time } = message;
      const { floor, swept } = JSON.parse(message.data.toString()) as { floor: number; swept: number };
      return { floor, swept, sequence, time };
    } catch (error) {
      if (isStreamMissing(error)) return undefined;
      throw error;
    }
  }

  async #ensure(attempt = 1): Promise<Floor> {
    const { created, state, config } = await this.#stream();
    const isOpen = config.subjects.includes(this.#subjects.all);
    const isNew = config.subjects.length === 1 && config.subjects[0] === this.#subjects.floor;
    if (config.max_msgs_per_subject !== 1 || config.max_age !== 0 || !(isOpen || isNew)) {
      throw new StorageUnusableError(
        `the stream ${this.#client.stream} is of another kind: it must keep one message per subject for ever and have the subjects ${this.#subjects.all}`,
      );
    }
    const beginning = Math.trunc(Date.parse(created) * sequencesPerMillisecond);
    if (state.last_seq < beginning - 1) await this.#client.purgeBefore(beginning);
    let found = await this.#find();
    if (found === undefined) {
      // Nobody knows what a stream without this message has lost.
      const floor = Math.max(state.last_seq, beginning - 1);
      await this.#publish(0, { floor, swept: beginning - 1 });
      found = await this.#find();
      if (found === undefined) {
        if (attempt === ensureAttempts)
          throw new StorageUnavailableError(`the stream ${this.#client.stream} takes no message`);
        await this.#client.pause(50 << attempt);
        found = await this.#ensure(attempt + 1);
      }
    }
    if (!isOpen) await this.#client.listenTo(this.#subjects.all);
    return found;
  }

  async #stream(): Promise<StreamInfo> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#client.info();
      } catch (error) {
        if (!isStreamMissing(error)) throw error;
      }
      try {
        return await this.#client.addStream(this.#subjects.floor, this.#replicas);
      } catch (error) {
        // Somebody else may have made it in this moment.
        if (attempt === 3) {
          // A server that is starting, or is gone, says nothing about the stream.
          const Failure = isTransient(error) ? StorageUnavailableError : StorageUnusableError;
          throw new Failure(`the stream ${this.#client.stream} cannot be made: ${errorText(error)}`, error);
        }
        await this.#client.pause(50 << attempt);
      }
    }
  }

  /** False: another message stands there, or this one (after a lost answer). Who cares reads it. */
  async #publish(expected: number, next: { readonly floor: number; readonly swept: number }): Promise<boolean> {
    try {
      await this.#client.publish({
        subject: this.#subjects.floor,
        data: Buffer.from(JSON.stringify(next)),
        headers: { 'Nats-Expected-Last-Subject-Sequence': String(expected) },
      });
      return true;
    } catch (error) {
      const { kind } = classifyWrite(error, this.#subjects.floor);
      if (kind === 'conflict' || kind === 'unknown' || kind === 'no-stream') return false;
      throw error;
    }
  }
}

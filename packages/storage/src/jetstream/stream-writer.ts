import {
  KeyExistsError,
  OutcomeUnknownError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from '../errors.ts';
import type { StoredMessage, StreamClient } from './stream-client.ts';
import { classifyWrite } from './stream-errors.ts';
import type { StreamFloor } from './stream-floor.ts';
import { bodyOf, recordHeaders, recordOf, type StreamRecord } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';

export interface StreamWriterOptions {
  readonly maxValueBytes: number;
  /** Tries of one write, under one name, until it is known what became of it. */
  readonly attempts: number;
}

/** Sequences of values that are known without asking. */
const rememberedValues = 10_000;
/** Headers and subject of a message, at most. */
const overheadBytes = 8 * 1024;

/** The subject has another last sequence. */
interface Refusal {
  readonly current: StoredMessage | undefined;
}

/**
 * Compare-and-set on the last sequence of a subject.
 *
 * A key is absent when its subject has no message, or a tombstone: then the tombstone's sequence is what a create must
 * name. The other way round a tombstone's sequence must not pass for that of a value, so an update first knows that its
 * expectation is a value, and takes over from it when the key was born.
 *
 * A write without an answer is sent again under the same name (`Nats-Msg-Id`). NATS remembers names for two minutes, also
 * over a restart, and answers a known one with the sequence it has; the name is looked at before the expectation. When
 * the write is refused instead, what stands there may have its name; otherwise it may have come and been replaced, and
 * nobody knows.
 */
export class StreamWriter {
  readonly #options: StreamWriterOptions;
  readonly #client: StreamClient;
  readonly #floor: StreamFloor;
  readonly #subjects: StreamSubjects;
  /** By the sequence of a value, oldest first: when its key was born. */
  readonly #born = new Map<number, number>();

  constructor(
    options: StreamWriterOptions,
    modules: { readonly client: StreamClient; readonly floor: StreamFloor; readonly subjects: StreamSubjects },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#floor = modules.floor;
    this.#subjects = modules.subjects;
  }

  async create(key: string, value: Buffer): Promise<number> {
    for (let expected = 0; ;) {
      const result = await this.#send(key, value, expected, { removed: false, born: 0 });
      if (typeof result === 'number') return this.#remember(result, result);
      const { current } = result;
      if (current !== undefined && !recordOf(current).removed) throw new KeyExistsError(key);
      // A tombstone that was swept in this moment leaves nothing to be named.
      expected = current?.sequence ?? 0;
    }
  }

  async update(key: string, value: Buffer, expected: number): Promise<number> {
    const born = await this.#bornOf(key, expected);
    const sequence = this.#sequenceOr(key, expected, await this.#send(key, value, expected, { removed: false, born }));
    this.#born.delete(expected);
    return this.#remember(sequence, born);
  }

  async delete(key: string, expected: number): Promise<number> {
    const born = await this.#bornOf(key, expected);
    const result = await this.#send(key, Buffer.alloc(0), expected, { removed: true, born });
    this.#born.delete(expected);
    return this.#sequenceOr(key, expected, result);
  }

  /** Tells of a value that was read, so that a write that follows need not ask. */
  seen(sequence: number, born: number): void {
    this.#remember(sequence, born);
  }

  /** When the key was born whose value has this sequence. Throws RevisionConflictError when it has none of it. */
  async #bornOf(key: string, sequence: number): Promise<number> {
    const known = this.#born.get(sequence);
    if (known !== undefined) return known;
    const subject = this.#subjects.encode(key);
    const current = await this.#last(subject);
    const record = current && recordOf(current);
    if (current?.sequence !== sequence || record?.removed !== false)
      throw new RevisionConflictError(key, sequence, record?.removed === false ? current?.sequence : undefined);
    return record.born;
  }

  #sequenceOr(key: string, expected: number, result: number | Refusal): number {
    if (typeof result === 'number') return result;
    const { current } = result;
    const alive = current !== undefined && !recordOf(current).removed;
    throw new RevisionConflictError(key, expected, alive ? current.sequence : undefined);
  }

  async #send(key: string, value: Buffer, expected: number, record: StreamRecord): Promise<number | Refusal> {
    const subject = this.#subjects.encode(key);
    const body = value.length > this.#options.maxValueBytes ? undefined : await this.#bodyOf(value);
    if (body === undefined) throw new ValueTooLargeError(key);
    const { data } = body;
    const id = this.#client.nextWriteId();
    const headers = {
      'Nats-Msg-Id': id,
      'Nats-Expected-Last-Subject-Sequence': String(expected),
      ...recordHeaders(record),
      ...body.headers,
    };
    let unanswered: unknown;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#client.publish({ subject, data, headers });
      } catch (error) {
        this.#client.assertOpen();
        const failure = classifyWrite(error, key);
        if (failure.kind === 'refused') {
          if (unanswered !== undefined) throw new OutcomeUnknownError(key, unanswered);
          throw failure.error;
        }
        if (failure.kind === 'conflict') return await this.#resolve(key, subject, id, unanswered);
        if (failure.kind === 'unknown') unanswered = error;
        if (attempt === this.#options.attempts) {
          if (unanswered !== undefined) throw new OutcomeUnknownError(key, unanswered);
          throw new StorageUnavailableError('there is no stream that takes the write', error);
        }
        await this.#recover(key, unanswered, failure.kind === 'no-stream');
      }
    }
  }

  #bodyOf(value: Buffer): ReturnType<typeof bodyOf> {
    return bodyOf(value, this.#client.maxMessageBytes - overheadBytes);
  }

  /** Waits until the stream answers again. */
  async #recover(key: string, unanswered: unknown, missing: boolean): Promise<void> {
    try {
      if (missing) await this.#floor.ensure();
      else await this.#client.info();
    } catch (error) {
      if (unanswered !== undefined) throw new OutcomeUnknownError(key, unanswered);
      throw error;
    }
  }

  async #resolve(key: string, subject: string, id: string, unanswered: unknown): Promise<number | Refusal> {
    let current: StoredMessage | undefined;
    try {
      current = await this.#last(subject);
    } catch (error) {
      throw new OutcomeUnknownError(key, unanswered ?? error);
    }
    if (current?.header('Nats-Msg-Id') === id) return current.sequence;
    if (unanswered !== undefined) throw new OutcomeUnknownError(key, unanswered);
    return { current };
  }

  #last(subject: string): Promise<StoredMessage | undefined> {
    return this.#floor.during(() => this.#client.last(subject));
  }

  #remember(sequence: number, born: number): number {
    this.#born.set(sequence, born);
    if (this.#born.size > rememberedValues) this.#born.delete(this.#born.keys().next().value as number);
    return sequence;
  }
}

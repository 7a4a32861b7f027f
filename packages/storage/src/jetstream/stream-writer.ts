import {
  KeyExistsError,
  OutcomeUnknownError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from '../errors.ts';
import type { StoredMessage, StreamClient } from './stream-client.ts';
import { classifyWrite } from './stream-errors.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import { bodyOf, recordHeaders, recordOf, type StreamRecord } from './stream-records.ts';
import type { StreamSubjects } from './stream-subjects.ts';

export interface StreamWriterOptions {
  readonly maxValueBytes: number;
  /** Maximum number of attempts of a write with one message id, until its outcome is known. */
  readonly attempts: number;
}

/** Maximum size of the cache of create revisions. */
const maxCreateRevisions = 10_000;
/** Upper estimate of the headers and the subject of a message. */
const overheadBytes = 8 * 1024;

/** The subject has another last sequence. */
interface Refusal {
  readonly current: StoredMessage | undefined;
}

/**
 * Compare-and-set on the last sequence of a subject.
 *
 *   create   a key does not exist when its subject has no message or a tombstone; then the create must expect the sequence
 *            of the tombstone
 *   update   must not accept the sequence of a tombstone, so it first verifies that the expected sequence is a value; the
 *            new message takes over its create revision
 *   retry    a write without a response is sent again with the same `Nats-Msg-Id`. NATS remembers ids for two minutes, also
 *            across restarts, and responds to a known id with its sequence; it checks the id before the expected sequence.
 *            When the retry is refused, the current message may have our id; otherwise ours may have been stored and
 *            replaced: the outcome is unknown.
 */
export class StreamWriter {
  readonly #options: StreamWriterOptions;
  readonly #client: StreamClient;
  readonly #watermark: CompactionWatermark;
  readonly #subjects: StreamSubjects;
  /** Create revision of a key by the sequence of its value, oldest first. */
  readonly #createRevisions = new Map<number, number>();

  constructor(
    options: StreamWriterOptions,
    modules: {
      readonly client: StreamClient;
      readonly watermark: CompactionWatermark;
      readonly subjects: StreamSubjects;
    },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#watermark = modules.watermark;
    this.#subjects = modules.subjects;
  }

  async create(key: string, value: Buffer): Promise<number> {
    for (let expected = 0; ;) {
      const result = await this.#send(key, value, expected, { removed: false, createRevision: 0 });
      if (typeof result === 'number') return this.#remember(result, result);
      const { current } = result;
      if (current !== undefined && !recordOf(current).removed) throw new KeyExistsError(key);
      // When the tombstone was swept meanwhile, the subject has no sequence to expect.
      expected = current?.sequence ?? 0;
    }
  }

  async update(key: string, value: Buffer, expected: number): Promise<number> {
    const createRevision = await this.#createRevisionOf(key, expected);
    const sequence = this.#sequenceOr(
      key,
      expected,
      await this.#send(key, value, expected, { removed: false, createRevision }),
    );
    this.#createRevisions.delete(expected);
    return this.#remember(sequence, createRevision);
  }

  async delete(key: string, expected: number): Promise<number> {
    const createRevision = await this.#createRevisionOf(key, expected);
    const result = await this.#send(key, Buffer.alloc(0), expected, { removed: true, createRevision });
    this.#createRevisions.delete(expected);
    return this.#sequenceOr(key, expected, result);
  }

  /** Records a value that was read, so that a following write need not read it again. */
  noteCreateRevision(sequence: number, createRevision: number): void {
    this.#remember(sequence, createRevision);
  }

  /** Create revision of the key whose value has this sequence. Throws RevisionConflictError when it has another one. */
  async #createRevisionOf(key: string, sequence: number): Promise<number> {
    const known = this.#createRevisions.get(sequence);
    if (known !== undefined) return known;
    const subject = this.#subjects.encode(key);
    const current = await this.#last(subject);
    const record = current && recordOf(current);
    if (current?.sequence !== sequence || record?.removed !== false)
      throw new RevisionConflictError(key, sequence, record?.removed === false ? current?.sequence : undefined);
    return record.createRevision;
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
    let lostResponse: unknown;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#client.publish({ subject, data, headers });
      } catch (error) {
        this.#client.assertOpen();
        const failure = classifyWrite(error, key);
        if (failure.kind === 'refused') {
          if (lostResponse !== undefined) throw new OutcomeUnknownError(key, lostResponse);
          throw failure.error;
        }
        if (failure.kind === 'conflict') return await this.#resolve(key, subject, id, lostResponse);
        if (failure.kind === 'unknown') lostResponse = error;
        if (attempt === this.#options.attempts) {
          if (lostResponse !== undefined) throw new OutcomeUnknownError(key, lostResponse);
          throw new StorageUnavailableError('no stream accepts the write', error);
        }
        await this.#recover(key, lostResponse, failure.kind === 'no-stream');
      }
    }
  }

  #bodyOf(value: Buffer): ReturnType<typeof bodyOf> {
    return bodyOf(value, this.#client.maxMessageBytes - overheadBytes);
  }

  /** Waits until the stream responds. */
  async #recover(key: string, lostResponse: unknown, missing: boolean): Promise<void> {
    try {
      if (missing) await this.#watermark.ensure();
      else await this.#client.info();
    } catch (error) {
      if (lostResponse !== undefined) throw new OutcomeUnknownError(key, lostResponse);
      throw error;
    }
  }

  async #resolve(key: string, subject: string, id: string, lostResponse: unknown): Promise<number | Refusal> {
    let current: StoredMessage | undefined;
    try {
      current = await this.#last(subject);
    } catch (error) {
      throw new OutcomeUnknownError(key, lostResponse ?? error);
    }
    if (current?.header('Nats-Msg-Id') === id) return current.sequence;
    if (lostResponse !== undefined) throw new OutcomeUnknownError(key, lostResponse);
    return { current };
  }

  #last(subject: string): Promise<StoredMessage | undefined> {
    return this.#watermark.withStream(() => this.#client.lastMessage(subject));
  }

  #remember(sequence: number, createRevision: number): number {
    this.#createRevisions.set(sequence, createRevision);
    if (this.#createRevisions.size > maxCreateRevisions)
      this.#createRevisions.delete(this.#createRevisions.keys().next().value as number);
    return sequence;
  }
}

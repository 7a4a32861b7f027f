import { createHash, type Hash } from 'node:crypto';
import { StorageUnusableError } from '../errors.ts';
import type { StoredValue } from '../interface.ts';

/*
 * A snapshot of a store:
 *
 *   magic     `MPSNAP 1` and a line feed
 *   header    one line of JSON, {@link SnapshotHeader}
 *   records   u32 length of the key, u32 length of the value, f64 revision (little endian), key, value; in any order
 *   trailer   u32 0, f64 number of records, SHA-256 of all bytes before the hash
 *
 * A stream that was cut off has no trailer, so it is never taken for a whole snapshot.
 */

/** What a snapshot is of. */
export interface SnapshotHeader {
  /** The state of exactly this revision. */
  readonly revision: number;
  /** RFC 3339. */
  readonly createdAt: string;
  /** The shard that the store belongs to; undefined when it was read without its shard. */
  readonly shard?: string | undefined;
  /** `file`, `etcd` or `memory`. */
  readonly backend: string;
  /** Set for the snapshot of a workspace and its subtree. */
  readonly workspace?: WorkspaceScope | undefined;
}

/** The workspace that a snapshot contains, with its subtree. Values are plain, also when the store encrypts them. */
export interface WorkspaceScope {
  readonly path: string;
  /** The name of its logical cluster; empty in the part of a shard that does not have it. */
  readonly cluster: string;
  /** The parts of the shards, each the state of one revision of that shard; absent in the part of one shard. */
  readonly parts?: readonly { readonly shard: string; readonly revision: number }[] | undefined;
}

const magic = 'MPSNAP 1\n';
const recordHeadBytes = 16;
const trailerBytes = 4 + 8 + 32;
/** A longer header or key is damage. */
const maxHeaderBytes = 1 << 20;
const maxKeyBytes = 1 << 16;
const maxValueBytes = 1 << 30;
/** Records are collected to chunks of this size. */
const chunkBytes = 256 << 10;

/** Encodes a snapshot; the chunks in order are the file. */
export class SnapshotEncoder {
  readonly #hash: Hash = createHash('sha256');
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #records = 0;

  constructor(header: SnapshotHeader) {
    this.#push(Buffer.from(`${magic}${JSON.stringify(header)}\n`));
  }

  /** Adds a record, whose value is copied; returns a chunk once enough is collected. */
  add({ key, value, revision }: StoredValue): Buffer | undefined {
    const keyBytes = Buffer.byteLength(key);
    const bytes = Buffer.allocUnsafe(recordHeadBytes + keyBytes + value.length);
    bytes.writeUInt32LE(keyBytes, 0);
    bytes.writeUInt32LE(value.length, 4);
    bytes.writeDoubleLE(revision, 8);
    bytes.write(key, recordHeadBytes, 'utf8');
    value.copy(bytes, recordHeadBytes + keyBytes);
    this.#records++;
    this.#push(bytes);
    return this.#pendingBytes < chunkBytes ? undefined : this.#take();
  }

  /** The rest of the file. */
  end(): Buffer {
    const trailer = Buffer.alloc(trailerBytes - 32);
    trailer.writeDoubleLE(this.#records, 4);
    this.#push(trailer);
    return Buffer.concat([this.#take(), this.#hash.digest()]);
  }

  #push(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  #take(): Buffer {
    const chunk = Buffer.concat(this.#pending, this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    return chunk;
  }
}

/** Decodes a snapshot. Nothing that it returned is trustworthy until {@link records} has ended: the hash is at the end. */
export class SnapshotDecoder {
  readonly #source: AsyncIterator<Buffer, void, undefined>;
  readonly #hash: Hash = createHash('sha256');
  #rest: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]() as AsyncIterator<Buffer, void, undefined>;
  }

  /** Throws StorageUnusableError when it is no snapshot. */
  async header(): Promise<SnapshotHeader> {
    let end: number;
    while ((end = this.#rest.indexOf(10, magic.length)) < 0) {
      if (this.#rest.length > maxHeaderBytes || !(await this.#more())) throw unusable('it is not a snapshot');
    }
    const text = this.#consume(end + 1).toString('utf8');
    if (!text.startsWith(magic)) throw unusable('it is not a snapshot, or one of another version');
    try {
      const header = JSON.parse(text.slice(magic.length)) as SnapshotHeader;
      if (!Number.isSafeInteger(header.revision)) throw new TypeError('no revision');
      return header;
    } catch (error) {
      throw unusable('its header is damaged', error);
    }
  }

  /** The records. Throws StorageUnusableError at the end when the file is incomplete or damaged. */
  async *records(): AsyncGenerator<StoredValue, void, undefined> {
    for (let count = 0; ; count++) {
      const keyBytes = (await this.#peek(4)).readUInt32LE(0);
      if (keyBytes === 0) {
        await this.#finish(count);
        return;
      }
      const head = await this.#peek(recordHeadBytes);
      const valueBytes = head.readUInt32LE(4);
      const revision = head.readDoubleLE(8);
      if (keyBytes > maxKeyBytes || valueBytes > maxValueBytes) throw unusable('it is damaged');
      await this.#peek(recordHeadBytes + keyBytes + valueBytes);
      const record = this.#consume(recordHeadBytes + keyBytes + valueBytes);
      yield {
        key: record.toString('utf8', recordHeadBytes, recordHeadBytes + keyBytes),
        // Copied: a view would retain its whole chunk.
        value: Buffer.from(record.subarray(recordHeadBytes + keyBytes)),
        revision,
      };
    }
  }

  async #finish(count: number): Promise<void> {
    await this.#peek(trailerBytes);
    const written = this.#consume(trailerBytes - 32).readDoubleLE(4);
    const sum = this.#hash.digest();
    if (!this.#rest.subarray(0, 32).equals(sum) || written !== count)
      throw unusable('it is damaged: checksum mismatch');
    if (this.#rest.length > 32 || (await this.#more())) throw unusable('something follows its end');
  }

  /** At least this many bytes, which are not consumed. */
  async #peek(bytes: number): Promise<Buffer> {
    while (this.#rest.length < bytes) if (!(await this.#more())) throw unusable('it is incomplete: its end is missing');
    return this.#rest;
  }

  #consume(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#hash.update(taken);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const next = await this.#source.next();
    if (next.done === true) {
      this.#ended = true;
      return false;
    }
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    return true;
  }
}

function unusable(why: string, cause?: unknown): StorageUnusableError {
  return new StorageUnusableError(`the snapshot is not usable: ${why}`, cause);
}

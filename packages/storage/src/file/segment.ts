import { constants, readSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { StorageUnavailableError } from '../errors.ts';

export const durable = constants.O_RDWR | constants.O_DSYNC;

/** A file of records. It stays open while it is read, also after compaction has unlinked it. */
export class Segment {
  readonly id: number;
  readonly path: string;
  readonly file: FileHandle;
  /** Durable bytes; the bytes after them are ignored. */
  size: number;
  /** Bytes of live records. */
  live = 0;
  #users = 0;
  #retired = false;
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(id: number, path: string, file: FileHandle, size: number) {
    this.id = id;
    this.path = path;
    this.file = file;
    this.size = size;
  }

  static async open(id: number, path: string, size: number): Promise<Segment> {
    // O_DSYNC: a write returns when it is durable, which takes one round trip to the thread pool instead of two.
    return new Segment(id, path, await open(path, durable), size);
  }

  /** Keeps the file open until {@link release}. */
  hold(): void {
    this.#users++;
  }

  async release(): Promise<void> {
    this.#users--;
    if (this.#users === 0 && this.#retired) await this.#end();
  }

  /** Reads exactly this many bytes. */
  async read(offset: number, length: number): Promise<Buffer> {
    return await this.readInto(Buffer.allocUnsafeSlow(length), offset);
  }

  /** Fills the buffer. */
  async readInto(bytes: Buffer, offset: number): Promise<Buffer> {
    const { length } = bytes;
    this.hold();
    try {
      for (let done = 0; done < length;) {
        const { bytesRead } = await this.file.read(bytes, done, length - done, offset + done);
        if (bytesRead === 0) throw this.#shortened();
        done += bytesRead;
      }
    } finally {
      await this.release();
    }
    return bytes;
  }

  /** Reads synchronously; the caller holds the segment. */
  readFromSync(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const read = readSync(this.file.fd, bytes, done, length - done, offset + done);
      if (read === 0) throw this.#shortened();
      done += read;
    }
    return bytes;
  }

  /** Closes the file when its last reader has finished, and unlinks it on request. No new reads may start. */
  async retire(remove: boolean): Promise<void> {
    if (remove) await unlink(this.path);
    this.#retired = true;
    if (this.#users === 0) await this.#end();
    else {
      this.#closed = Promise.withResolvers();
      await this.#closed.promise;
    }
  }

  #shortened(): StorageUnavailableError {
    return new StorageUnavailableError(`the file ${this.path} was truncated`);
  }

  async #end(): Promise<void> {
    await this.file.close();
    this.#closed?.resolve();
  }
}

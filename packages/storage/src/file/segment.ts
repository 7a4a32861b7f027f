import { constants, readSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { StorageUnavailableError } from '../errors.ts';

export const durable = constants.O_RDWR | constants.O_DSYNC;

/**
 * One file of records. It stays open while anybody reads from it, also when it has been merged into another and its name
 * is gone.
 */
export class Segment {
  readonly id: number;
  readonly path: string;
  readonly file: FileHandle;
  /** Bytes that are durable; what stands behind them does not count. */
  size: number;
  /** Bytes of records that somebody may still want. */
  live = 0;
  #users = 0;
  #retired = false;
  #gone: PromiseWithResolvers<void> | undefined;

  constructor(id: number, path: string, file: FileHandle, size: number) {
    this.id = id;
    this.path = path;
    this.file = file;
    this.size = size;
  }

  static async open(id: number, path: string, size: number): Promise<Segment> {
    // A write returns when it is on disk: one way to the thread pool and back instead of two.
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

  /** Exactly these bytes. */
  async read(offset: number, length: number): Promise<Buffer> {
    return await this.readInto(Buffer.allocUnsafeSlow(length), offset);
  }

  /** As many bytes as there is room for. */
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

  /** Exactly these bytes, in this turn; of a file that is held open. */
  readNow(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const read = readSync(this.file.fd, bytes, done, length - done, offset + done);
      if (read === 0) throw this.#shortened();
      done += read;
    }
    return bytes;
  }

  /** Nobody begins to read any more; the file goes when the last one has finished. */
  async retire(remove: boolean): Promise<void> {
    if (remove) await unlink(this.path);
    this.#retired = true;
    if (this.#users === 0) await this.#end();
    else {
      this.#gone = Promise.withResolvers();
      await this.#gone.promise;
    }
  }

  #shortened(): StorageUnavailableError {
    return new StorageUnavailableError(`the file ${this.path} has lost its end`);
  }

  async #end(): Promise<void> {
    await this.file.close();
    this.#gone?.resolve();
  }
}

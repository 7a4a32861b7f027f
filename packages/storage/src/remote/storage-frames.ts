import { isStorageError, StorageError, type StorageErrorCode } from '../errors.ts';

/**
 * How a {@link RemoteStorage} and the server of its store exchange lists and watches: a stream of frames, each a line of JSON
 * that is followed by the bytes of a value when it has `length`. Values are passed on as they are.
 *
 *   list    {"list": {revision, remaining}}, then a frame {key, revision, length} with the value of each key
 *   watch   frames {type, key, revision, created, length} of the events of a batch, then {"batch": revision}; a batch without
 *           events is a progress notification
 *   end     {"end": true}: the list is complete. {"error": {code, message}}: it failed, as did the watch
 */
export interface StorageFrame {
  readonly list?: { readonly revision: number; readonly remaining: number };
  readonly batch?: number;
  readonly end?: true;
  readonly error?: WrittenStorageError;
  readonly type?: 'put' | 'delete';
  readonly key?: string;
  readonly revision?: number;
  readonly created?: boolean;
  /** Bytes of the value behind the line. */
  readonly length?: number;
}

export interface DecodedFrame {
  readonly frame: StorageFrame;
  readonly value: Buffer | undefined;
}

/** A {@link StorageError} as JSON. */
export interface WrittenStorageError {
  readonly code: StorageErrorCode;
  readonly message: string;
}

const newline = 0x0a;
const maxLineBytes = 64 * 1024;
const maxValueBytes = 64 * 1024 * 1024;

/** The bytes of one frame; the value is copied, so that the memory of a cache may be reused. */
export function encodeFrame(frame: StorageFrame, value?: Buffer): Buffer {
  const line = Buffer.from(`${JSON.stringify(value === undefined ? frame : { ...frame, length: value.length })}\n`);
  return value === undefined ? line : Buffer.concat([line, value]);
}

export function writtenError(error: unknown): WrittenStorageError {
  return isStorageError(error)
    ? { code: error.code, message: error.message }
    : { code: 'Unavailable', message: error instanceof Error ? error.message : String(error) };
}

export function errorOf({ code, message }: WrittenStorageError): StorageError {
  return new StorageError(code, message);
}

/** Splits a stream of bytes into frames; holds one incomplete frame. Throws an Error for what is none. */
export class StorageFrameDecoder {
  #chunks: Buffer[] = [];
  #size = 0;
  /** The line whose value is incomplete. */
  #frame: StorageFrame | undefined;

  *push(chunk: Buffer): Generator<DecodedFrame, void, undefined> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    // A value of many chunks is joined once, when all of it is there.
    if (this.#frame !== undefined && this.#size < (this.#frame.length ?? 0)) return;
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    for (;;) {
      if (this.#frame === undefined) {
        const end = rest.indexOf(newline);
        if (end < 0 ? rest.length > maxLineBytes : end > maxLineBytes)
          throw new Error(`a frame of the store has a line of more than ${maxLineBytes} bytes`);
        if (end < 0) break;
        const frame = JSON.parse(rest.toString('utf8', 0, end)) as StorageFrame;
        rest = rest.subarray(end + 1);
        if ((frame.length ?? 0) > maxValueBytes)
          throw new Error(`a frame of the store has a value of more than ${maxValueBytes} bytes`);
        if (frame.length === undefined) yield { frame, value: undefined };
        else this.#frame = frame;
        continue;
      }
      const { length = 0 } = this.#frame;
      if (rest.length < length) break;
      const frame = this.#frame;
      this.#frame = undefined;
      yield { frame, value: Buffer.from(rest.subarray(0, length)) };
      rest = rest.subarray(length);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
  }
}

import { constants, type ClientHttp2Stream, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2';
import { errorText } from '@multiplane/apimachinery';
import type { Method } from './etcd-messages.ts';
import {
  frameHead,
  framed,
  GrpcConnection,
  unsent,
  type Connection,
  type GrpcConnectionOptions,
} from './grpc-connection.ts';

/**
 * Unary gRPC calls over HTTP/2 (the "gRPC over HTTP2" protocol), all on one connection. Nothing is tried again here.
 *
 * Failures are Errors whose text begins as grpc-js has it, `14 UNAVAILABLE: …`. "No connection established" is said of
 * calls that provably never left this process, and of no others.
 *
 * A call of the library costs three times as much, and a write to etcd is little else (docs/adr).
 */
export class UnaryCalls {
  readonly #connection: GrpcConnection;

  constructor(options: GrpcConnectionOptions) {
    this.#connection = new GrpcConnection(options);
  }

  call<Q, A>({ path, encode, decode }: Method<Q, A>, request: Q, timeoutMs: number): Promise<A> {
    return new Promise((resolve, reject) => {
      const frame = framed(encode(request));
      const timeout = `${Math.max(1, Math.ceil(timeoutMs))}m`;
      const [stream, connection] = this.#connection.open(path, { 'grpc-timeout': timeout });
      const answer = new Answer(connection, stream, timeoutMs);
      answer.whenOver = (error, message) => {
        if (error !== undefined) {
          reject(error);
          return;
        }
        try {
          resolve(decode(message));
        } catch (cause) {
          reject(failure(13, 'the answer cannot be read', cause));
        }
      };
      stream.end(frame);
    });
  }

  close(): void {
    this.#connection.close();
  }
}

/** What comes back on one stream. */
class Answer {
  whenOver: (error: Error | undefined, message: Buffer) => void = () => undefined;
  readonly #connection: Connection;
  readonly #chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #status: string | undefined;
  #text = '';
  #cause: unknown;

  constructor(connection: Connection, stream: ClientHttp2Stream, timeoutMs: number) {
    this.#connection = connection;
    // Silence counts from when somebody waits.
    if (connection.calls++ === 0) connection.heardAt = performance.now();
    this.#timer = setTimeout(() => {
      this.#settle(failure(4, connection.isOpen ? 'Deadline exceeded' : `${unsent} in time`));
      stream.destroy();
    }, timeoutMs);
    stream.on('response', (headers) => this.#take(headers));
    stream.on('trailers', (headers: IncomingHttpHeaders) => this.#take(headers));
    stream.on('data', (chunk: Buffer) => {
      connection.heardAt = performance.now();
      this.#chunks.push(chunk);
    });
    stream.on('error', (error: Error) => {
      this.#cause ??= error;
    });
    stream.on('close', () => this.#end(stream.rstCode));
  }

  #take(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.#connection.heardAt = performance.now();
    const status = headers['grpc-status'];
    if (status !== undefined) {
      this.#status ??= String(status);
      this.#text = unescaped(String(headers['grpc-message'] ?? ''));
    } else if (headers[':status'] !== undefined && headers[':status'] !== 200) {
      this.#status = '14';
      this.#text = `HTTP status ${headers[':status']}`;
    }
  }

  #end(rstCode: number): void {
    const because = this.#cause === undefined ? '' : `: ${errorText(this.#cause)}`;
    if (this.#status === '0') {
      const message = unframed(this.#chunks);
      this.#settle(message === undefined ? failure(13, 'the answer is no message') : undefined, message);
    } else if (this.#status !== undefined) this.#settle(failure(Number(this.#status), this.#text));
    // A refused stream was not looked at (RFC 9113, 8.7).
    else if (!this.#connection.isOpen || rstCode === constants.NGHTTP2_REFUSED_STREAM)
      this.#settle(failure(14, unsent + because, this.#cause));
    else this.#settle(failure(14, `Connection dropped${because}`, this.#cause));
  }

  /** The first word counts. */
  #settle(error: Error | undefined, message = none): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#connection.calls--;
    this.whenOver(error, message);
  }
}

const none: Buffer = Buffer.alloc(0);

/** The one message of an answer; undefined for anything else. Nobody asked for compression. */
function unframed(chunks: readonly Buffer[]): Buffer | undefined {
  const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  if (bytes.length < frameHead || bytes[0] !== 0) return undefined;
  return bytes.readUInt32BE(1) === bytes.length - frameHead ? bytes.subarray(frameHead) : undefined;
}

/** Texts of gRPC are percent-encoded; one that is not whole is shown as it is. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const statusNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];

function failure(status: number, text: string, cause?: unknown): Error {
  return new Error(`${status} ${statusNames[status] ?? 'UNKNOWN'}: ${text}`, { cause });
}

import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2';
import { errorText } from '@multiplane/apimachinery';
import type { EtcdTls } from './etcd-client.ts';
import type { Method } from './etcd-messages.ts';

export interface UnaryCallsOptions {
  /** `http://host:port` or `https://host:port` of the members. */
  readonly endpoints: readonly string[];
  readonly tls: EtcdTls | undefined;
}

/** How long a connection may take to be there. */
const connectMs = 5000;
/** A connection on which answers are owed and nothing came for so long is asked whether it lives … */
const silenceMs = 3000;
/** … and given up when it does not say so. */
const answerMs = 4000;
/** etcd ends connections that ask more often than every 5 s, or with nothing under way. */
const leastPingMs = 5200;
const beatMs = 500;
/** What may be on its way to here: lists are large, and their values are read at once. */
const windowBytes = 8 << 20;

/** A session, and what is known of its life. */
interface Connection {
  readonly session: ClientHttp2Session;
  /** Requests leave from then on. */
  isOpen: boolean;
  calls: number;
  heardAt: number;
  pingedAt: number;
  isPinging: boolean;
}

/**
 * Unary gRPC calls over HTTP/2 (the "gRPC over HTTP2" protocol): one connection for all of them, made when it is needed,
 * anew and to the next member after it has failed. Nothing is tried again here, and no call waits for a better connection
 * than the one it began on.
 *
 * Failures are Errors whose text begins as grpc-js has it, `14 UNAVAILABLE: …`. "No connection established" is said of
 * calls that provably never left this process, and of no others.
 *
 * A call of the library costs three times as much, and a write to etcd is little else (docs/adr).
 */
export class UnaryCalls {
  readonly #options: UnaryCallsOptions;
  #connection: Connection | undefined;
  #nextEndpoint = 0;
  #closed = false;

  constructor(options: UnaryCallsOptions) {
    this.#options = options;
  }

  call<Q, A>({ path, encode, decode }: Method<Q, A>, request: Q, timeoutMs: number): Promise<A> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(failure(14, `${unsent}: the client is closed`));
        return;
      }
      const frame = framed(encode(request));
      const connection = this.#connected();
      const stream = connection.session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': `${Math.max(1, Math.ceil(timeoutMs))}m`,
      });
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
    this.#closed = true;
    this.#connection?.session.destroy();
  }

  #connected(): Connection {
    const { endpoints } = this.#options;
    const known = this.#connection;
    if (known !== undefined && !known.session.closed && !known.session.destroyed) return known;
    const endpoint = endpoints[this.#nextEndpoint % endpoints.length] as string;
    const connection = connectTo(endpoint, this.#options.tls);
    this.#connection = connection;
    // Whatever ends it, the next one is to another member, where there are more.
    connection.session.once('close', () => {
      if (this.#connection === connection) this.#nextEndpoint++;
    });
    return connection;
  }
}

function connectTo(endpoint: string, tls: EtcdTls | undefined): Connection {
  const session = connect(endpoint, {
    ...(tls === undefined ? {} : { ca: tls.authority, cert: tls.certificate, key: tls.privateKey }),
    settings: { initialWindowSize: windowBytes, enablePush: false },
    // Answers are bounded by who asks.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
  const now = performance.now();
  const connection: Connection = { session, isOpen: false, calls: 0, heardAt: now, pingedAt: 0, isPinging: false };
  const late = setTimeout(() => session.destroy(new Error('no connection in time')), connectMs).unref();
  const beat = setInterval(() => lookAfter(connection), beatMs).unref();
  session.once('connect', () => {
    clearTimeout(late);
    connection.isOpen = true;
    connection.heardAt = performance.now();
    session.setLocalWindowSize(windowBytes);
  });
  // Its calls tell of it.
  session.on('error', () => undefined);
  session.once('close', () => {
    clearTimeout(late);
    clearInterval(beat);
  });
  return connection;
}

/** A peer that has gone without a word is noticed while somebody waits for it. */
function lookAfter(connection: Connection): void {
  const { session, isOpen, calls, heardAt, pingedAt, isPinging } = connection;
  const now = performance.now();
  if (!isOpen || session.destroyed) return;
  if (isPinging) {
    if (now - pingedAt > answerMs) session.destroy(new Error('the connection has gone quiet'));
    return;
  }
  if (calls === 0 || now - heardAt < silenceMs || now - pingedAt < leastPingMs) return;
  connection.pingedAt = now;
  connection.isPinging = session.ping(() => {
    connection.isPinging = false;
    connection.heardAt = performance.now();
  });
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

/** Said of calls that have not left this process, and of no others. */
const unsent = 'No connection established';
const none: Buffer = Buffer.alloc(0);
const frameHead = 5;

function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(frameHead + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, frameHead);
  return frame;
}

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

import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { EtcdTls } from './etcd-client.ts';

export interface GrpcConnectionOptions {
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
export interface Connection {
  readonly session: ClientHttp2Session;
  /** Requests leave from then on. */
  isOpen: boolean;
  calls: number;
  heardAt: number;
  pingedAt: number;
  isPinging: boolean;
}

/** Said of calls that have not left this process, and of no others. */
export const unsent = 'No connection established';

/**
 * One HTTP/2 connection for many gRPC calls, made when it is needed, anew and to the next member after it has failed.
 * Nothing is tried again here, and no call waits for a better connection than the one it began on.
 */
export class GrpcConnection {
  readonly #options: GrpcConnectionOptions;
  #connection: Connection | undefined;
  #nextEndpoint = 0;
  #closed = false;

  constructor(options: GrpcConnectionOptions) {
    this.#options = options;
  }

  /** Begins a call. Who does counts it in `calls` as long as something is expected of it. Throws when closed. */
  open(path: string, headers: Readonly<Record<string, string>> = {}): [ClientHttp2Stream, Connection] {
    if (this.#closed) throw new Error(`14 UNAVAILABLE: ${unsent}: the client is closed`);
    const connection = this.#connected();
    const stream = connection.session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    return [stream, connection];
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
    // A connection that is there just when it is given up tells so all the same.
    if (session.destroyed) return;
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

/** Before each message: a byte that says it is not compressed, and its length. */
export const frameHead = 5;

export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(frameHead + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, frameHead);
  return frame;
}

/** Puts the messages of a stream together, whatever pieces they come in; none of them holds on to what it came with. */
export class MessageReader {
  readonly #take: (message: Buffer) => void;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(take: (message: Buffer) => void) {
    this.#take = take;
  }

  /** Throws for what is no message of gRPC, and what `take` throws. */
  take(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#wanted()) return;
    let bytes = Buffer.concat(this.#pieces);
    for (;;) {
      this.#pieces = [bytes];
      this.#length = bytes.length;
      const end = this.#wanted();
      if (bytes.length < end) return;
      const message = bytes.subarray(frameHead, end);
      bytes = bytes.subarray(end);
      this.#take(message);
    }
  }

  /** Bytes up to the end of the next message, or of its head. */
  #wanted(): number {
    if (this.#length < frameHead) return frameHead;
    let head = this.#pieces[0] as Buffer;
    if (head.length < frameHead) {
      head = Buffer.concat(this.#pieces);
      this.#pieces = [head];
    }
    if (head[0] !== 0) throw new Error('13 INTERNAL: the answer is no message');
    return frameHead + head.readUInt32BE(1);
  }
}

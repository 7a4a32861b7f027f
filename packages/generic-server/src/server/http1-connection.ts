import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@multiplane/component-base';
import { ClientDeparture } from './client-departure.ts';

/** Bytes that the parser gets at a time: they bound the requests that are parsed after reading was paused. */
const sliceBytes = 4 * 1024;
/** How long a connection that the server has ended still accepts what the client sends. */
const lingerMs = 2_000;

export interface Http1ConnectionOptions {
  /** While as many requests wait for the response to an earlier one, no further ones are read. */
  readonly maxPipelinedRequests: number;
}

export interface Http1ConnectionModules {
  /** Node's HTTP server listens to it already. */
  readonly socket: Socket;
  readonly clock: Clock;
}

/** What Node's HTTP server keeps in a socket: it has paused reading until the client has read a response. */
interface PausedSocket {
  readonly _paused?: boolean;
}

/** Responses to input that Node's parser refuses; other errors of it start with `HPE_` and are 400. */
const statusByCode: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * One HTTP/1.1 connection: when its requests are read and how it ends, so that each request that was read gets a complete
 * response which the client can read.
 *
 * **Reading.** Node attaches its parser to the handle of the socket, below the stream. When a request arrives while a response
 * waits for the client to read, Node pauses the handle and the parser. TLS still delivers the records that it has received, and
 * for a paused parser they are an error that destroys the connection. So from the first such request on the parser reads from
 * the stream, which keeps what arrives while it is paused. Other connections read faster without the stream, also those whose
 * client sends the next request as soon as it has read a response, before Node has run the callback of its write.
 *
 * **Order.** Like Go's server, this one executes the requests of a connection one after the other, so a client that does not
 * read has one response in memory, not one per request. Beyond a number of waiting requests the connection is not read.
 *
 * **Malformed input** is answered after the requests before it.
 *
 * **Closing.** A socket that is closed with unread input resets the connection, and the client loses the response that it has
 * not read yet. So the server ends its own side and drops input until the client closes the connection (RFC 9112 §9.6).
 *
 * **Half-closed.** A client that ends its side gets the responses to what it sent before ({@link ClientDeparture}).
 */
export class Http1Connection {
  readonly #options: Http1ConnectionOptions;
  readonly #clock: Clock;
  readonly #socket: Socket;
  /** Node's listener, which passes bytes to the parser. It must not be called while Node has paused the socket. */
  readonly #parse: (chunk: Buffer) => void;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  /** Requests without a complete response, in their order. */
  readonly #open: ServerResponse[] = [];
  /** The last request that was read. */
  #last: IncomingMessage | undefined;
  /** The response to malformed input; nothing is read any more. */
  #rejection: string | undefined;
  #isEnding = false;
  #readsFromStream = false;
  /** Called once the responses before an upgrade are complete; set: what follows is not HTTP. */
  #upgrade: (() => void) | undefined;

  constructor(options: Http1ConnectionOptions, { socket, clock }: Http1ConnectionModules) {
    this.#options = options;
    this.#clock = clock;
    this.#socket = socket;
    const [parse] = socket.listeners('data') as ((chunk: Buffer) => void)[];
    if (parse === undefined) throw new TypeError('the socket has no HTTP parser');
    this.#parse = parse;
    socket.allowHalfOpen = true;
    const departure = new ClientDeparture({ socket, clock, current: () => this.#open[0] });
    socket.on('end', () => departure.check());
    // Node calls it behind the last response.
    socket.destroySoon = (): void => this.#end();
  }

  /** False while a response is not written. */
  get canUpgrade(): boolean {
    return this.#open.every((response) => response.writableEnded);
  }

  /** Calls `start` once the responses to earlier requests are complete. */
  startInTurn(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    const before = this.#open.at(-1);
    this.#open.push(response);
    this.#last = request;
    response.on('close', () => this.#completed(response));
    const isFirst = response.socket !== null;
    // A client that has read a response may send its next request before Node learns that the response was written.
    const isPipelined = !isFirst && before?.writableEnded !== true;
    if (isPipelined || isPausedByNode(this.#socket)) this.#readFromStream();
    if (isFirst) {
      start();
      return;
    }
    // Node emits this event when it connects the response to the socket, after the previous response.
    response.once('socket', () => {
      if (this.#rejection === undefined || request.complete) start();
    });
    this.#stayPaused();
  }

  /** The input is malformed or took too long, or the connection broke. */
  reject(error: NodeJS.ErrnoException): void {
    if (this.#isEnding) return;
    const { code = '' } = error;
    const status = statusByCode[code] ?? (code.startsWith('HPE_') ? 400 : undefined);
    if (status === undefined || !this.#socket.writable) {
      this.#socket.destroy(error);
      return;
    }
    this.#readFromStream();
    this.#rejection ??= `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`;
    this.#rejectInTurn();
  }

  /** What follows is not HTTP. Calls `start` once the client has the responses to earlier requests. */
  upgrade(start: () => void): void {
    const socket = this.#socket;
    this.#upgrade = start;
    socket.removeListener('data', this.#onData);
    socket.allowHalfOpen = false;
    Reflect.deleteProperty(socket, 'destroySoon');
    if (this.#open.length === 0) start();
  }

  /** Called within the event for a request, before the parser is paused. */
  #readFromStream(): void {
    if (this.#readsFromStream) return;
    this.#readsFromStream = true;
    const socket = this.#socket;
    socket.removeListener('data', this.#parse);
    // Node detaches its parser from the handle once the socket has another listener for data.
    socket.on('data', this.#onData);
    socket.on('resume', () => this.#stayPaused());
    // Node may have stopped the handle, which the stream does not know.
    socket._read(0);
  }

  #completed(response: ServerResponse): void {
    const at = this.#open.indexOf(response);
    if (at >= 0) this.#open.splice(at, 1);
    const socket = this.#socket;
    if (socket.destroyed || this.#isEnding) return;
    if (this.#upgrade !== undefined) {
      if (this.#open.length === 0) this.#upgrade();
    } else if (this.#rejection !== undefined) this.#rejectInTurn();
    else if (this.#open.length === this.#options.maxPipelinedRequests && !isPausedByNode(socket)) socket.resume();
  }

  /** Sends the rejection once it is the turn of the request that it is for. */
  #rejectInTurn(): void {
    const [current] = this.#open;
    const isForLast = this.#last?.complete === false;
    if (current !== undefined && (!isForLast || current.req !== this.#last)) return;
    // The incomplete request may have its response already, or a part of it.
    if (!isForLast || current?.headersSent === false) this.#socket.write(this.#rejection as string);
    else if (current !== undefined && !current.writableEnded) return;
    this.#end();
  }

  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#readFromStream();
    const socket = this.#socket;
    // Node closes the socket when both sides have ended.
    socket.end();
    socket.resume();
    const timer = this.#clock.after(lingerMs, () => socket.destroy());
    socket.once('close', () => timer.cancel());
  }

  get #mustPause(): boolean {
    return this.#open.length > this.#options.maxPipelinedRequests || isPausedByNode(this.#socket);
  }

  /** Node resumes a socket for various reasons. */
  #stayPaused(): void {
    if (this.#upgrade === undefined && !this.#isEnding && this.#mustPause) this.#socket.pause();
  }

  #read(chunk: Buffer): void {
    const socket = this.#socket;
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      if (this.#isEnding || this.#rejection !== undefined || socket.destroyed) return;
      this.#stayPaused();
      if (this.#upgrade !== undefined || (at > 0 && socket.isPaused()) || this.#mustPause) {
        socket.unshift(chunk.subarray(at));
        return;
      }
      this.#parse(chunk.length <= sliceBytes ? chunk : chunk.subarray(at, at + sliceBytes));
    }
  }
}

const isPausedByNode = (socket: Socket): boolean => (socket as PausedSocket)._paused === true;

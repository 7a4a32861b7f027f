import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { AnswerReader, type AnswerReaderOptions, type AnswerSink } from './answer-reader.ts';
import type { RequestHead } from './request-head.ts';
import { WireError } from './wire-error.ts';

/** One request under way, for whoever is told about its answer. Does nothing once the request is over. */
export interface RequestControl {
  /** Gives it up; its connection is closed. */
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

/** Is told what becomes of a request: its start, its answer, and one end. */
export interface AnswerHandler {
  /** It has a connection and is about to leave. */
  onRequestStart(control: RequestControl): void;
  /** Names in lower case and values in turn. */
  onResponseStart(control: RequestControl, status: number, headers: string[]): void;
  onResponseData(control: RequestControl, chunk: Buffer): void;
  onResponseEnd(control: RequestControl, trailers: string[]): void;
  onResponseError(error: Error): void;
}

export interface WireRequest {
  readonly method: string;
  readonly head: RequestHead;
  readonly body: Readable | undefined;
  readonly handler: AnswerHandler;
}

export interface ConnectionModules {
  readonly socket: Socket;
  /** It may be used again. */
  readonly onFree: (connection: Connection) => void;
  /** It is closed, or will be; told once. */
  readonly onGone: (connection: Connection) => void;
}

/**
 * One HTTP/1.1 connection with one request at a time. It is used again only when the answer was complete, the request was
 * sent to its end, and both sides kept to the protocol; whatever comes while nobody asked for anything ends it, since it
 * would be taken for the answer to the next request.
 */
export class Connection implements AnswerSink {
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  readonly #modules: ConnectionModules;
  #flight: Flight | undefined;
  #error: Error | undefined;
  #gone = false;

  constructor(options: AnswerReaderOptions, modules: ConnectionModules) {
    this.#modules = modules;
    this.#socket = modules.socket;
    this.#reader = new AnswerReader(options, { sink: this });
    const { socket } = modules;
    // Only a request keeps the process alive, by its client.
    socket.unref();
    socket.on('data', (data: Buffer) => this.#onBytes(data));
    socket.on('drain', () => this.#flight?.request.body?.resume());
    socket.on('end', () => {
      if (this.#flight === undefined || !this.#reader.finish()) this.#fail(this.#closedError());
    });
    socket.on('error', (error: Error) => (this.#error = error));
    socket.on('close', () => this.#fail(this.#closedError()));
  }

  /** It takes no more requests. */
  get isGone(): boolean {
    return this.#gone;
  }

  /** How long the server keeps it when it is not used. */
  get idleHintMs(): number {
    return this.#reader.idleHintMs;
  }

  send(request: WireRequest): void {
    const flight = new Flight(this, request);
    this.#flight = flight;
    request.handler.onRequestStart(flight);
    // Given up before anything was sent: nothing is wrong with the connection.
    if (this.#flight !== flight) return;
    const { head, body } = request;
    // Its client went away while it waited.
    if (body?.destroyed === true) {
      this.abort(flight, body.errored ?? new WireError('request', 'the body is gone'));
      return;
    }
    this.#reader.begin(request.method);
    if (body === undefined) flight.isSent = true;
    this.#socket.write(head.text, 'latin1');
    flight.hasLeft = true;
    if (body !== undefined) this.#sendBody(flight, body, head.length);
  }

  /** Closes it; a request on it fails. */
  destroy(error: Error = new WireError('stopped', 'the connection was given up')): void {
    this.#fail(error);
  }

  /** Of {@link Flight}. */
  abort(flight: Flight, reason: Error): void {
    if (this.#flight !== flight) return;
    if (flight.hasLeft) {
      this.#fail(reason);
      return;
    }
    this.#flight = undefined;
    flight.request.body?.destroy();
    flight.request.handler.onResponseError(reason);
    this.#modules.onFree(this);
  }

  pause(flight: Flight): void {
    if (this.#flight === flight) this.#socket.pause();
  }

  resume(flight: Flight): void {
    if (this.#flight === flight) this.#socket.resume();
  }

  onHead(status: number, headers: string[]): void {
    const flight = this.#flight as Flight;
    flight.request.handler.onResponseStart(flight, status, headers);
  }

  onData(chunk: Buffer): void {
    const flight = this.#flight as Flight;
    flight.request.handler.onResponseData(flight, chunk);
  }

  onEnd(trailers: string[]): void {
    const flight = this.#flight as Flight;
    this.#flight = undefined;
    const isReusable = this.#reader.keepsAlive && flight.isSent;
    // What the server did not wait for goes nowhere.
    if (!flight.isSent) flight.request.body?.destroy();
    if (!isReusable) this.#leave();
    else if (this.#socket.isPaused()) this.#socket.resume();
    const { handler } = flight.request;
    try {
      handler.onResponseEnd(flight, trailers);
    } catch (error) {
      handler.onResponseError(errorOf(error));
    }
    if (isReusable && !this.#gone) this.#modules.onFree(this);
  }

  #onBytes(data: Buffer): void {
    try {
      this.#reader.push(data);
    } catch (error) {
      this.#fail(errorOf(error));
    }
  }

  /** As fast as the server takes it. A body that breaks off breaks the connection: it must not look like a shorter one. */
  #sendBody(flight: Flight, body: Readable, length: number | undefined): void {
    const socket = this.#socket;
    let sent = 0;
    const isOver = (): boolean => this.#flight !== flight;
    const mismatch = (): void => this.#fail(new WireError('request', 'a body of another length than was said'));
    body.on('data', (chunk: Buffer) => {
      if (isOver() || chunk.length === 0) return;
      sent += chunk.length;
      if (length !== undefined && sent > length) {
        mismatch();
        return;
      }
      let hasRoom: boolean;
      if (length === undefined) {
        socket.cork();
        socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
        socket.write(chunk);
        hasRoom = socket.write('\r\n', 'latin1');
        socket.uncork();
      } else {
        hasRoom = socket.write(chunk);
      }
      if (!hasRoom) body.pause();
    });
    body.on('end', () => {
      if (isOver()) return;
      if (length === undefined) socket.write('0\r\n\r\n', 'latin1');
      else if (sent !== length) {
        mismatch();
        return;
      }
      flight.isSent = true;
    });
    body.on('error', (error: Error) => {
      if (!isOver()) this.#fail(error);
    });
  }

  #closedError(): Error {
    return this.#error ?? new WireError('closed', 'the server closed the connection');
  }

  #fail(error: Error): void {
    const flight = this.#flight;
    this.#flight = undefined;
    this.#reader.stop();
    this.#leave();
    if (flight === undefined) return;
    flight.request.body?.destroy();
    flight.request.handler.onResponseError(error);
  }

  #leave(): void {
    this.#socket.destroy();
    if (this.#gone) return;
    this.#gone = true;
    this.#modules.onGone(this);
  }
}

const errorOf = (error: unknown): Error =>
  error instanceof Error ? error : new WireError('answer', 'an answer failed', { cause: error });

class Flight implements RequestControl {
  readonly #connection: Connection;
  readonly request: WireRequest;
  /** Something of it may be on its way. */
  hasLeft = false;
  /** All of it is. */
  isSent = false;

  constructor(connection: Connection, request: WireRequest) {
    this.#connection = connection;
    this.request = request;
  }

  abort(reason: Error): void {
    this.#connection.abort(this, reason);
  }
  pause(): void {
    this.#connection.pause(this);
  }
  resume(): void {
    this.#connection.resume(this);
  }
}

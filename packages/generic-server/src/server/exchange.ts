import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** Lower-case names; a repeated header is a list. HTTP/2 pseudo-headers are left out. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * One HTTP request and its answer, the same over HTTP/1.1 and HTTP/2 (where the stream API is used: the compatibility
 * layer costs half the throughput). Answers are bytes; nothing here knows of objects.
 */
export interface Exchange {
  readonly method: string;
  /** Path and query as they came, not decoded. */
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion: '1.1' | '2.0';
  readonly socket: TLSSocket;

  /** The whole body. Throws StatusError 413 beyond `limit` bytes (also announced by content-length). */
  readBody(limit: number): Promise<Buffer>;

  /** Sets a header of the answer; only before the answer begins. A list sends the header once per value. */
  setHeader(name: string, value: string | readonly string[]): void;
  readonly headersSent: boolean;
  /** Status of the answer, 0 before it begins. */
  readonly status: number;

  /** The whole answer at once. `content-length` is set. */
  respond(status: number, body: Buffer | string): void;
  /** Begins a streamed answer (flushes the headers at once). */
  start(status: number): void;
  /**
   * One more piece; false means: wait for {@link drained} before the next. `done` is called when nobody will read the
   * piece's memory any more; perhaps never.
   */
  write(chunk: Buffer, done?: () => void): boolean;
  /** Bytes that were written and have not left the process. */
  readonly buffered: number;
  /** Resolves when there is room again; rejects never: look at {@link signal}. */
  drained(): Promise<void>;
  /** Ends a streamed answer properly. Trailers are names and values in turn, and leave only after a body in pieces. */
  end(trailers?: readonly string[]): void;
  /** Cuts the answer off (an error after the headers). */
  destroy(): void;

  /** Aborts as soon as the client is gone or the answer was cut off; never after a complete answer. */
  readonly signal: AbortSignal;

  /** From now on `start` begins a WebSocket, if the client asked for one, and every line written is one text frame. */
  upgradeToWebSocket?(): void;

  /**
   * Hands the rest over to code written for node's request and response (express, proxies). Headers set so far are
   * taken along. Absent when the request did not come through a socket.
   */
  handOver?(): NodeMessages;

  /** The body as it comes, instead of {@link readBody}; undefined when there is none. It may end in an error. */
  bodyStream?(): Readable | undefined;
  /**
   * Takes the connection of a request that came with `Upgrade` away from HTTP: the answer is whatever is written to the
   * socket. Absent for all other requests.
   */
  takeConnection?(): UpgradedConnection;
  /** The exchange below one that changes the bytes of answers (compression): for bytes passed on as they are. */
  readonly direct?: Exchange;
}

/** What {@link Exchange.takeConnection} gives away. */
export interface UpgradedConnection {
  readonly socket: TLSSocket;
  /** What the client sent behind its headers. */
  readonly head: Buffer;
}

/** What {@link Exchange.handOver} gives away. On HTTP/2 these are the objects of node's compatibility layer. */
export interface NodeMessages {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Resolves when the answer is complete or the client is gone. */
  readonly finished: Promise<void>;
}

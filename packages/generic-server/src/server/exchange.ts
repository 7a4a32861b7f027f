import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UserInfo } from '@multiplane/apimachinery';
import type { AuditTrail } from '../audit/audit-trail.ts';

/** Headers by lower-case name; a repeated header is a list. Without HTTP/2 pseudo-headers. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * One HTTP request and its response, over HTTP/1.1 or HTTP/2 (Node's stream API; its compatibility layer halves the
 * throughput). Responses are bytes; callers encode objects.
 */
export interface Exchange {
  readonly method: string;
  /** Path and query as received, not decoded. */
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion: '1.1' | '2.0';
  readonly socket: TLSSocket;

  /** Counts unread bytes of the response and bytes of the body towards the limits of a user. */
  chargeTo?(owner: string): void;

  /** The whole body. Throws StatusError 413 if it, or its content-length, exceeds `limit` bytes. */
  readBody(limit: number): Promise<Buffer>;

  /** Sets a response header, before the response starts. A list sends the header once per value. */
  setHeader(name: string, value: string | readonly string[]): void;
  readonly headersSent: boolean;
  /** Status of the response, 0 before it starts. */
  readonly status: number;

  /** Sends a complete response and sets `content-length`. */
  respond(status: number, body: Buffer | string): void;
  /** Starts a streamed response and flushes the headers. */
  start(status: number): void;
  /**
   * Writes a chunk; false: wait for {@link drained} before the next one. `done` is called once the chunk's memory can be
   * reused, which may never happen.
   */
  write(chunk: Buffer, done?: () => void): boolean;
  /** Written bytes that have not left the process. */
  readonly buffered: number;
  /** Resolves once the buffer has drained or the client disconnected (see {@link signal}); never rejects. */
  drained(): Promise<void>;
  /** Completes a streamed response. Trailers are alternating names and values; they require a chunked body. */
  end(trailers?: readonly string[]): void;
  /** Aborts the response, after an error behind its headers. */
  destroy(): void;

  /** Aborts once the client disconnects or the response is aborted; never after a complete response. */
  readonly signal: AbortSignal;

  /** Makes `start` open a WebSocket, if the client requested one; every written line is then one text frame. */
  upgradeToWebSocket?(): void;

  /**
   * Transfers the exchange to code that uses Node's request and response objects (express), with the headers set so far.
   * Absent for a request that did not arrive through a socket.
   */
  handOver?(): NodeMessages;

  /** The body as a stream, instead of {@link readBody}; undefined if there is none. It may end with an error. */
  bodyStream?(): Readable | undefined;
  /**
   * Takes over the connection of a request with `Upgrade`, like Go's `http.Hijacker`: the caller writes the response to the
   * socket. Absent for all other requests.
   */
  takeConnection?(): UpgradedConnection;
  /** True: responses are compressed. */
  readonly compresses?: boolean | undefined;
  /**
   * Of a request that a handler chain of this process audits: chains that it passes on its way in the same process add to
   * the event instead of sending their own.
   */
  readonly auditTrail?: AuditTrail | undefined;
  /** The user for whom another handler chain of this process passes the request on. Never set for a request from a connection. */
  readonly dispatchedUser?: UserInfo | undefined;
  /** The exchange below a decorator that changes the bytes of responses (compression), to forward bytes unchanged. */
  readonly direct?: Exchange;
}

/** The result of {@link Exchange.takeConnection}. */
export interface UpgradedConnection {
  readonly socket: TLSSocket;
  /** Bytes that the client sent behind its headers. */
  readonly head: Buffer;
}

/** The result of {@link Exchange.handOver}. On HTTP/2 these are objects of Node's compatibility layer. */
export interface NodeMessages {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Resolves once the response is complete or the client disconnected. */
  readonly finished: Promise<void>;
}

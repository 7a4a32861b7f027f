import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UserInfo } from '@multiplane/apimachinery';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Exchange, Headers, NodeMessages, UpgradedConnection } from './exchange.ts';

/** An exchange with the state that the request lifecycle and metrics read. */
export interface ServerExchange extends Exchange {
  /** True once the handler completed or aborted the response. */
  readonly ended: boolean;
  /** True once the connection or stream is closed, whether or not the response was complete. */
  readonly isClosed: boolean;
  /** Bytes of the body that were written so far. */
  readonly bytesSent: number;
}

/** Identity headers and credentials: the caller is authenticated already, and these would be evaluated a second time. */
const credentials = /^(authorization|impersonate-.*|x-remote-(user|group|uid|extra-.*))$/;

/**
 * A request that another server of this process passes to a second handler chain, after it authenticated the caller and
 * chose the URL. The response goes to the client directly.
 */
export class DispatchedExchange implements ServerExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly dispatchedUser: UserInfo;
  readonly #inner: Exchange;
  ended = false;
  bytesSent = 0;
  readonly upgradeToWebSocket?: () => void;
  readonly handOver?: () => NodeMessages;
  readonly takeConnection?: () => UpgradedConnection;

  constructor(inner: Exchange, url: string, user: UserInfo) {
    this.method = inner.method;
    this.url = url;
    this.dispatchedUser = user;
    const headers = Object.create(null) as Record<string, Headers[string]>;
    for (const name in inner.headers) if (!credentials.test(name)) headers[name] = inner.headers[name];
    // The outer exchange compresses already.
    if (inner.compresses === true) headers['accept-encoding'] = undefined;
    this.headers = headers;
    this.#inner = inner;
    if (inner.upgradeToWebSocket !== undefined) this.upgradeToWebSocket = (): void => inner.upgradeToWebSocket?.();
    if (inner.handOver !== undefined) {
      this.handOver = (): NodeMessages => {
        this.ended = true;
        return (inner as Required<Exchange>).handOver();
      };
    }
    if (inner.takeConnection !== undefined) {
      this.takeConnection = (): UpgradedConnection => {
        this.ended = true;
        return (inner as Required<Exchange>).takeConnection();
      };
    }
  }

  get httpVersion(): '1.1' | '2.0' {
    return this.#inner.httpVersion;
  }
  get socket(): TLSSocket {
    return this.#inner.socket;
  }
  get signal(): AbortSignal {
    return this.#inner.signal;
  }
  get auditTrail(): AuditTrail | undefined {
    return this.#inner.auditTrail;
  }
  get isClosed(): boolean {
    return this.#inner.signal.aborted;
  }
  get status(): number {
    return this.#inner.status;
  }
  get headersSent(): boolean {
    return this.#inner.headersSent;
  }
  get buffered(): number {
    return this.#inner.buffered;
  }

  bodyStream(): Readable | undefined {
    return this.#inner.bodyStream?.();
  }
  chargeTo(owner: string): void {
    this.#inner.chargeTo?.(owner);
  }
  readBody(limit: number): Promise<Buffer> {
    return this.#inner.readBody(limit);
  }
  setHeader(name: string, value: string | readonly string[]): void {
    this.#inner.setHeader(name, value);
  }
  respond(status: number, body: Buffer | string): void {
    if (this.ended) return;
    this.ended = true;
    this.bytesSent += body.length;
    this.#inner.respond(status, body);
  }
  start(status: number): void {
    this.#inner.start(status);
  }
  write(chunk: Buffer, done?: () => void): boolean {
    this.bytesSent += chunk.length;
    return this.#inner.write(chunk, done);
  }
  drained(): Promise<void> {
    return this.#inner.drained();
  }
  end(trailers?: readonly string[]): void {
    if (this.ended) return;
    this.ended = true;
    this.#inner.end(trailers);
  }
  destroy(): void {
    if (this.ended) return;
    this.ended = true;
    this.#inner.destroy();
  }
}

import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Exchange, Headers, NodeMessages, UpgradedConnection } from '../exchange.ts';
import { GzipExchange } from './gzip-exchange.ts';

/** An exchange as the border of the chain needs it. */
export interface EdgeExchange extends Exchange {
  /** True once the answer is complete (as far as the handler is concerned) or was cut off. */
  readonly ended: boolean;
  /** True once the connection or stream is closed, whatever became of the answer. */
  readonly gone: boolean;
  /** Bytes of the body handed over so far. */
  readonly bytesSent: number;
}

/** Who asks is settled: these would be read a second time, in the name of somebody else. */
const credentials = /^(authorization|impersonate-.*|x-remote-(user|group|uid|extra-.*))$/;

/**
 * A request on its way down a chain for the second time: another server of this process has answered for who makes it
 * and where it goes. The answer goes straight to the client.
 */
export class DispatchedExchange implements EdgeExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly #inner: Exchange;
  ended = false;
  bytesSent = 0;
  readonly upgradeToWebSocket?: () => void;
  readonly handOver?: () => NodeMessages;
  readonly takeConnection?: () => UpgradedConnection;

  constructor(inner: Exchange, url: string) {
    this.method = inner.method;
    this.url = url;
    const headers = Object.create(null) as Record<string, Headers[string]>;
    for (const name in inner.headers) if (!credentials.test(name)) headers[name] = inner.headers[name];
    // Nothing is compressed twice.
    if (inner instanceof GzipExchange) headers['accept-encoding'] = undefined;
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
  get gone(): boolean {
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

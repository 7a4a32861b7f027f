import type { TLSSocket } from 'node:tls';
import {
  type Exchange,
  type Headers,
  parseRequestPath,
  type RequestContext,
  resolveRequestInfo,
  ServerRequestContext,
} from '@multiplane/generic-server';

/** FOR TESTS: an exchange without a socket; its members contain the response. */
export class MemoryExchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion = '2.0' as const;
  readonly answer: Record<string, string | readonly string[]> = {};
  status = 0;
  body = '';
  cutOff = false;
  readonly buffered = 0;
  readonly #requestBody: Buffer;

  constructor(method: string, url: string, headers: Headers = {}, body: Buffer | string = '') {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.#requestBody = Buffer.from(body);
  }
  get socket(): TLSSocket {
    throw new TypeError('there is no socket');
  }
  get headersSent(): boolean {
    return this.status !== 0;
  }
  get signal(): AbortSignal {
    return new AbortController().signal;
  }
  readBody(): Promise<Buffer> {
    return Promise.resolve(this.#requestBody);
  }
  setHeader(name: string, value: string | readonly string[]): void {
    this.answer[name.toLowerCase()] = value;
  }
  respond(status: number, body: Buffer | string): void {
    this.status = status;
    this.body = body.toString();
  }
  start(status: number): void {
    this.status = status;
  }
  write(chunk: Buffer): boolean {
    this.body += chunk.toString();
    return true;
  }
  drained(): Promise<void> {
    return Promise.resolve();
  }
  end(): void {}
  destroy(): void {
    this.cutOff = true;
  }
}

/** A request for a handler, in the logical cluster of its URL. */
export function memoryContext(exchange: MemoryExchange): RequestContext {
  const target = parseRequestPath(exchange.url);
  const info = resolveRequestInfo(exchange.method, target, target.cluster);
  return new ServerRequestContext(exchange, info, 'audit-id', 0);
}

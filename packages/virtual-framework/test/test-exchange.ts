import type { TLSSocket } from 'node:tls';
import type { UserInfo } from '@multiplane/apimachinery';
import { RequestWork } from '@multiplane/component-base';
import {
  type ServerExchange,
  type Headers,
  parseRequestPath,
  type RequestContext,
  resolveRequestInfo,
} from '@multiplane/generic-server';

/** FOR TESTS: an exchange without a socket; it records the response. */
export class TestExchange implements ServerExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion = '2.0' as const;
  readonly responseHeaders: Record<string, string | readonly string[]> = {};
  readonly socket = { destroyed: true } as TLSSocket;
  readonly signal: AbortSignal = new AbortController().signal;
  readonly buffered = 0;
  readonly bytesSent = 0;
  readonly isClosed = false;
  status = 0;
  body = '';
  ended = false;
  readonly #requestBody: Buffer;

  constructor(method: string, url: string, headers: Readonly<Record<string, string>> = {}, body = '') {
    this.method = method;
    this.url = url;
    this.headers = Object.assign(Object.create(null) as Record<string, string>, headers);
    this.#requestBody = Buffer.from(body);
  }
  get headersSent(): boolean {
    return this.status !== 0;
  }
  readBody(): Promise<Buffer> {
    return Promise.resolve(this.#requestBody);
  }
  setHeader(name: string, value: string | readonly string[]): void {
    this.responseHeaders[name.toLowerCase()] = value;
  }
  respond(status: number, body: Buffer | string): void {
    this.start(status);
    this.write(Buffer.from(body));
    this.end();
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
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.ended = true;
  }
}

/** FOR TESTS: a request context for `user`. */
export function testContext(exchange: TestExchange, user: UserInfo): RequestContext {
  const target = parseRequestPath(exchange.url);
  return {
    exchange,
    info: resolveRequestInfo(exchange.method, target, target.cluster),
    user,
    auditId: '',
    receivedAt: 0,
    signal: exchange.signal,
    work: new RequestWork(),
    warn: () => {},
  };
}

import type { TLSSocket } from 'node:tls';
import {
  resolveRequestInfo,
  parseRequestPath,
  type EdgeExchange,
  type Headers,
  type RequestContext,
} from '@multiplane/apiserver';
import type { UserInfo } from '@multiplane/apimachinery';

/** FOR TESTS: a request without a socket; what was answered stands in its members. */
export class TestExchange implements EdgeExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion = '2.0' as const;
  readonly answer: Record<string, string | readonly string[]> = {};
  readonly socket = { destroyed: true } as TLSSocket;
  readonly signal: AbortSignal = new AbortController().signal;
  readonly buffered = 0;
  readonly bytesSent = 0;
  readonly gone = false;
  status = 0;
  body = '';
  ended = false;
  readonly #sent: Buffer;

  constructor(method: string, url: string, headers: Readonly<Record<string, string>> = {}, body = '') {
    this.method = method;
    this.url = url;
    this.headers = Object.assign(Object.create(null) as Record<string, string>, headers);
    this.#sent = Buffer.from(body);
  }
  get headersSent(): boolean {
    return this.status !== 0;
  }
  readBody(): Promise<Buffer> {
    return Promise.resolve(this.#sent);
  }
  setHeader(name: string, value: string | readonly string[]): void {
    this.answer[name.toLowerCase()] = value;
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

/** FOR TESTS: the request of somebody, as a handler gets it. */
export function testContext(exchange: TestExchange, user: UserInfo): RequestContext {
  const target = parseRequestPath(exchange.url);
  return {
    exchange,
    info: resolveRequestInfo(exchange.method, target, target.cluster),
    user,
    auditId: '',
    receivedAt: 0,
    signal: exchange.signal,
    warn: () => {},
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { ProxyExchange } from '../src/proxy-exchange.ts';

/** FOR TESTS: an exchange over objects of node:http; the API server's exchange is in another package. */
export class NodeExchange implements ProxyExchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #controller = new AbortController();
  readonly httpVersion = '1.1';

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    response.on('error', () => undefined);
    response.on('close', () => {
      if (!response.writableEnded) this.#controller.abort();
    });
  }

  get method(): string {
    return this.#request.method ?? '';
  }
  get url(): string {
    return this.#request.url ?? '';
  }
  get headers(): ProxyExchange['headers'] {
    return this.#request.headers;
  }
  get socket(): ProxyExchange['socket'] {
    return this.#request.socket;
  }
  get headersSent(): boolean {
    return this.#response.headersSent;
  }
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  bodyStream(): Readable | undefined {
    const { headers } = this.#request;
    const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
    return hasBody ? this.#request : undefined;
  }
  setHeader(name: string, value: string | readonly string[]): void {
    this.#response.setHeader(name, value);
  }
  respond(status: number, body: Buffer): void {
    this.#response.writeHead(status);
    this.#response.end(body);
  }
  start(status: number): void {
    this.#response.writeHead(status);
    this.#response.flushHeaders();
  }
  write(chunk: Buffer): boolean {
    return this.#response.write(chunk);
  }
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#response.once('drain', resolve);
      this.#response.once('close', resolve);
    });
  }
  end(): void {
    this.#response.end();
  }
  destroy(): void {
    this.#response.destroy();
  }
}

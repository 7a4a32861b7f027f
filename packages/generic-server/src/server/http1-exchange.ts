import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ListElement } from '@multiplane/component-base';
import type { NodeMessages } from './exchange.ts';
import type { ResponseCoalescer } from './response-coalescer.ts';
import { BaseExchange, type ExchangeLimits, headersFromRaw, unlessFailed } from './base-exchange.ts';

const ignore = (): void => undefined;

/** An exchange over the objects of node:http. */
export class Http1Exchange extends BaseExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly httpVersion = '1.1' as const;
  readonly socket: TLSSocket;
  protected readonly request: IncomingMessage;
  protected readonly response: ServerResponse;
  readonly #coalescer: ResponseCoalescer | undefined;
  #handedOver = false;

  /** Removes `position` from its list when the exchange closes. Without `coalescer` each response is sent immediately. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    position: ListElement<ServerResponse>,
    coalescer?: ResponseCoalescer,
    limits?: ExchangeLimits,
  ) {
    super(limits);
    this.#coalescer = coalescer;
    this.method = request.method ?? 'GET';
    this.url = originForm(request.url ?? '/');
    this.headers = headersFromRaw(request.rawHeaders);
    this.socket = request.socket as TLSSocket;
    this.request = request;
    this.response = response;
    // A proxy uses its own idle timeout and would parse and drop this header in every response.
    const { shouldKeepAlive } = response;
    if (shouldKeepAlive && request.httpVersion === '1.1' && this.headers['x-forwarded-for'] !== undefined) {
      response.removeHeader('connection');
    }
    // Without a listener a write to a destroyed socket would raise an uncaught error.
    response.on('error', ignore);
    response.on('close', () => {
      if (this.#handedOver) this.status = response.statusCode;
      this.closed(this.#handedOver ? response.writableEnded : this.ended);
      position.remove();
    });
  }

  get buffered(): number {
    return this.response.writableLength;
  }

  handOver(): NodeMessages {
    const response = this.response;
    this.askForBody();
    this.#handedOver = true;
    for (const [name, value] of this.responseHeaderMap()) response.setHeader(name, value);
    const finished = new Promise<void>((resolve) => {
      response.on('close', () => resolve());
    });
    return { request: this.request, response, finished };
  }

  protected get needsDrain(): boolean {
    return this.response.writableNeedDrain;
  }

  protected sendContinue(): void {
    this.response.writeContinue();
  }

  protected sendWhole(status: number, body: Buffer | string | undefined): void {
    const { response } = this;
    // Immediately, so that invalid headers raise an error in the handler.
    response.writeHead(status, this.responseHeaders);
    if (this.#coalescer === undefined || body === undefined) response.end(body);
    else this.#coalescer.send(body.length, () => response.end(body));
  }

  protected sendHeaders(status: number): void {
    this.response.writeHead(status, this.responseHeaders);
    this.response.flushHeaders();
  }

  protected sendChunk(chunk: Buffer, done?: () => void): boolean {
    const response = this.response;
    const hasRoom = done === undefined ? response.write(chunk) : response.write(chunk, unlessFailed(done));
    if (!hasRoom && response.listenerCount('drain') === 0) response.on('drain', () => this.wake());
    return hasRoom;
  }

  protected sendEnd(trailers: readonly string[] = []): void {
    if (trailers.length > 0) this.response.addTrailers(pairs(trailers));
    this.response.end();
  }

  protected cut(): void {
    this.request.socket.destroy();
  }

  protected bodySource(): Readable | undefined {
    const { headers } = this;
    const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
    return hasBody && !this.request.readableEnded ? this.request : undefined;
  }

  protected refuseBody(): void {
    this.request.pause();
    // The remaining bytes would be parsed as the next request, so the connection ends with this response.
    this.setHeader('connection', 'close');
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) result.push([flat[i] as string, flat[i + 1] as string]);
  return result;
}

/** The target in origin form; servers must accept the absolute form, too (RFC 9112 §3.2.2). */
const originForm = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*\/?/i, '/');

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { NodeMessages } from './exchange.ts';
import { BaseExchange, type ExchangeLimits, headersFromRaw, unlessFailed } from './base-exchange.ts';

const { HTTP2_HEADER_STATUS, NGHTTP2_NO_ERROR } = constants;
const ignore = (): void => undefined;

/** An exchange over one HTTP/2 stream, without Node's compatibility layer. */
export class Http2Exchange extends BaseExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly httpVersion = '2.0' as const;
  readonly #stream: ServerHttp2Stream;
  readonly #incoming: IncomingHttpHeaders;
  readonly #raw: readonly string[];
  #socket: TLSSocket | undefined;
  #response: Http2ServerResponse | undefined;
  #bodyRefused = false;
  #trailers: readonly string[] = [];

  /** `socket` is the socket of the session, which `session.socket` hides behind a restricted proxy. */
  constructor(
    stream: ServerHttp2Stream,
    incoming: IncomingHttpHeaders,
    raw: readonly string[],
    socket: TLSSocket,
    onClose: (stream: ServerHttp2Stream) => void,
    limits?: ExchangeLimits,
  ) {
    super(limits);
    this.method = incoming[':method'] ?? 'GET';
    this.url = incoming[':path'] ?? '';
    this.headers = headersFromRaw(raw);
    this.headers['host'] ??= incoming[':authority'] ?? '';
    this.#stream = stream;
    this.#incoming = incoming;
    this.#raw = raw;
    this.#socket = socket;
    // Without a listener a reset by the client would raise an uncaught error.
    stream.on('error', ignore);
    const { expect } = this.headers;
    this.awaitsContinue = typeof expect === 'string' && expect.toLowerCase() === '100-continue';
    stream.on('close', () => {
      const response = this.#response;
      if (response !== undefined) this.status = response.statusCode;
      this.closed(response === undefined ? this.ended : response.writableEnded);
      onClose(stream);
    });
  }

  get socket(): TLSSocket {
    return this.#socket as TLSSocket;
  }

  get buffered(): number {
    return this.#stream.writableLength;
  }

  handOver(): NodeMessages {
    this.askForBody();
    const request = new Http2ServerRequest(this.#stream, this.#incoming, {}, this.#raw);
    const response = new Http2ServerResponse(this.#stream);
    this.#response = response;
    for (const [name, value] of this.responseHeaderMap()) {
      if (name === 'connection') this.#stream.session?.close();
      else response.setHeader(name, value);
    }
    const finished = new Promise<void>((resolve) => {
      this.#stream.on('close', () => resolve());
    });
    return {
      request: request as unknown as IncomingMessage,
      response: response as unknown as ServerResponse,
      finished,
    };
  }

  protected get needsDrain(): boolean {
    return this.#stream.writableNeedDrain;
  }

  protected sendContinue(): void {
    if (!this.#stream.destroyed) this.#stream.additionalHeaders({ [HTTP2_HEADER_STATUS]: 100 });
  }

  protected sendWhole(status: number, body: Buffer | string | undefined): void {
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (body === undefined) {
      stream.respond(this.outgoingHeaders(status), { endStream: true });
    } else {
      stream.respond(this.outgoingHeaders(status));
      stream.end(body);
    }
    if (this.#bodyRefused) this.closeAfterResponse();
  }

  protected sendHeaders(status: number): void {
    const stream = this.#stream;
    if (stream.destroyed) return;
    // Only for responses that announce trailers: the option keeps the stream open until they are sent.
    const waitForTrailers = this.responseHeaders.some((text, index) => index % 2 === 0 && text === 'trailer');
    if (!waitForTrailers) {
      stream.respond(this.outgoingHeaders(status));
      return;
    }
    stream.on('wantTrailers', () => {
      if (this.#trailers.length === 0) stream.close();
      else stream.sendTrailers(headersFromRaw(this.#trailers));
    });
    stream.respond(this.outgoingHeaders(status), { waitForTrailers });
  }

  protected sendChunk(chunk: Buffer, done?: () => void): boolean {
    const stream = this.#stream;
    if (stream.destroyed) return true;
    const hasRoom = done === undefined ? stream.write(chunk) : stream.write(chunk, unlessFailed(done));
    if (!hasRoom && stream.listenerCount('drain') === 0) stream.on('drain', () => this.wake());
    return hasRoom;
  }

  protected sendEnd(trailers: readonly string[] = []): void {
    this.#trailers = trailers;
    if (!this.#stream.destroyed) this.#stream.end();
    if (this.#bodyRefused) this.closeAfterResponse();
  }

  protected cut(): void {
    // Not close(): it completes the response before it resets the stream, so a partial list would look complete.
    this.#stream.destroy(new Error('the response was aborted'));
  }

  protected bodySource(): Readable | undefined {
    return this.#stream.endAfterHeaders || this.#stream.readableEnded ? undefined : this.#stream;
  }

  protected refuseBody(): void {
    this.#bodyRefused = true;
  }

  /** A complete response followed by NO_ERROR asks the client to stop sending (RFC 9113 §8.1). */
  private closeAfterResponse(): void {
    const stream = this.#stream;
    stream.on('finish', () => stream.close(NGHTTP2_NO_ERROR));
  }

  /** `Connection: close` does not exist in HTTP/2 and becomes a GOAWAY, as in Go's server. */
  private outgoingHeaders(status: number): OutgoingHttpHeaders {
    const { responseHeaders } = this;
    const headers = [':status', String(status)];
    for (let i = 0; i < responseHeaders.length; i += 2) {
      if (responseHeaders[i] === 'connection') this.#stream.session?.close();
      else headers.push(responseHeaders[i] as string, responseHeaders[i + 1] as string);
    }
    headers.push('date', httpDate());
    // Node also accepts a list, without copying it; its types do not declare that.
    return headers as unknown as OutgoingHttpHeaders;
  }
}

let dateSecond = 0;
let dateText = '';

/** The `Date` header (RFC 9110 §6.6.1), in real time also if the server runs on another clock. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}

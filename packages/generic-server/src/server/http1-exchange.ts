import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ListElement } from '@multiplane/component-base';
import type { NodeMessages } from '../exchange.ts';
import type { UnreadBytes } from '../unread-bytes.ts';
import type { AnswerTurns } from './answer-turns.ts';
import { BaseExchange, headersFromRaw, unlessFailed } from './base-exchange.ts';

const ignore = (): void => undefined;

/** An {@link BaseExchange} over node:http's objects. */
export class Http1Exchange extends BaseExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly httpVersion = '1.1' as const;
  readonly socket: TLSSocket;
  protected readonly request: IncomingMessage;
  protected readonly response: ServerResponse;
  readonly #answers: AnswerTurns | undefined;
  #handedOver = false;

  /** Leaves its place when it is over. Without `answers` each answer is sent at once. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    place: ListElement<ServerResponse>,
    answers?: AnswerTurns,
    unread?: UnreadBytes,
  ) {
    super(unread);
    this.#answers = answers;
    this.method = request.method ?? 'GET';
    this.url = request.url ?? '/';
    this.headers = headersFromRaw(request.rawHeaders);
    this.socket = request.socket as TLSSocket;
    this.request = request;
    this.response = response;
    // A proxy has a time of its own for connections, and would only read and drop what is said of this one.
    const { shouldKeepAlive } = response;
    if (shouldKeepAlive && request.httpVersion === '1.1' && this.headers['x-forwarded-for'] !== undefined) {
      response.removeHeader('connection');
    }
    // A write that meets a destroyed socket would be an uncaught error; requests keep their errors to themselves.
    response.on('error', ignore);
    response.on('close', () => {
      if (this.#handedOver) this.status = response.statusCode;
      this.closed(this.#handedOver ? response.writableEnded : this.ended);
      place.remove();
    });
  }

  get buffered(): number {
    return this.response.writableLength;
  }

  handOver(): NodeMessages {
    const response = this.response;
    this.#handedOver = true;
    for (const [name, value] of this.answerHeaders()) response.setHeader(name, value);
    const finished = new Promise<void>((resolve) => {
      response.on('close', () => resolve());
    });
    return { request: this.request, response, finished };
  }

  protected get needsDrain(): boolean {
    return this.response.writableNeedDrain;
  }

  protected sendWhole(status: number, body: Buffer | string | undefined): void {
    const { response } = this;
    // At once: headers that cannot be written are the handler's failure.
    response.writeHead(status, this.answer);
    if (this.#answers === undefined || body === undefined) response.end(body);
    else this.#answers.send(body.length, () => response.end(body));
  }

  protected sendHeaders(status: number): void {
    this.response.writeHead(status, this.answer);
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
    // The bytes that are still to come cannot be told from a next request: the connection ends with this answer.
    this.setHeader('connection', 'close');
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) result.push([flat[i] as string, flat[i + 1] as string]);
  return result;
}

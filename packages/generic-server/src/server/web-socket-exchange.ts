import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { lazyLibrary, type ListElement } from '@multiplane/component-base';
import type * as WebSockets from 'ws';
import type { WebSocket } from 'ws';
import type { UpgradedConnection } from '../exchange.ts';
import { unlessFailed } from './base-exchange.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { unauthenticatedProtocols } from './web-socket-protocols.ts';

/** Loaded by the first handshake. */
const loadWebSockets = lazyLibrary<typeof WebSockets>(import.meta.url, 'ws');

/** Clients have nothing to say on a watch; what they send is dropped. */
const maxMessageBytes = 64 * 1024;
const newline = 0x0a;
/** Closed because all was said (RFC 6455 §7.4.1). */
const normalClosure = 1000;

/** Headers that belong to the handshake or to a body, which a WebSocket does not have. */
const notForHandshake = new Set(['connection', 'content-length', 'content-type', 'transfer-encoding', 'upgrade']);

/** True for an HTTP/1.1 request that asks for a WebSocket and nothing else. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade?.trim().toLowerCase() === 'websocket';
}

/**
 * A request that came with `Upgrade`. It is answered like any other, on a connection that ends with the answer, unless
 * the handler calls {@link upgradeToWebSocket} first: then `start` completes the handshake (RFC 6455) and every line
 * that is written becomes one text frame, without its line break (K3.5).
 */
export class WebSocketExchange extends Http1Exchange {
  readonly #head: Buffer;
  readonly #place: ListElement<ServerResponse>;
  #upgrades = false;
  #webSocket: WebSocket | undefined;

  /** `head`: what the client sent behind its headers. */
  constructor(request: IncomingMessage, response: ServerResponse, head: Buffer, place: ListElement<ServerResponse>) {
    super(request, response, place);
    this.#head = head;
    this.#place = place;
  }

  override upgradeToWebSocket(): void {
    this.#upgrades = asksForWebSocket(this.request);
  }

  override takeConnection(): UpgradedConnection {
    const { response, socket } = this;
    // Whatever the new owner does is an answer: nobody else may begin one.
    this.status = 101;
    response.detachSocket(socket);
    socket.once('close', () => {
      this.ended = true;
      this.closed(true);
      this.#place.remove();
    });
    return { socket, head: this.#head };
  }

  override get buffered(): number {
    return this.#webSocket?.bufferedAmount ?? super.buffered;
  }

  protected override get needsDrain(): boolean {
    return this.#webSocket === undefined ? super.needsDrain : this.socket.writableNeedDrain;
  }

  protected override sendHeaders(status: number): void {
    if (!this.#upgrades || status !== 200) super.sendHeaders(status);
    else this.#shakeHands();
  }

  protected override sendChunk(chunk: Buffer, done?: () => void): boolean {
    const webSocket = this.#webSocket;
    if (webSocket === undefined) return super.sendChunk(chunk, done);
    let start = 0;
    while (start < chunk.length) {
      const found = chunk.indexOf(newline, start);
      const end = found < 0 ? chunk.length : found;
      const isLast = end + 1 >= chunk.length;
      webSocket.send(
        chunk.subarray(start, end),
        { binary: false },
        isLast && done !== undefined ? unlessFailed(done) : undefined,
      );
      start = end + 1;
    }
    return !this.socket.writableNeedDrain;
  }

  protected override sendEnd(): void {
    if (this.#webSocket === undefined) super.sendEnd();
    else this.#webSocket.close(normalClosure);
  }

  /** What follows the headers of such a request is not HTTP. */
  protected override bodySource(): Readable | undefined {
    return undefined;
  }

  protected override refuseBody(): void {}

  /** A malformed handshake is answered by the library, with 400 or 426. */
  #shakeHands(): void {
    const { request, response, socket } = this;
    response.detachSocket(socket);
    const { WebSocketServer } = loadWebSockets();
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      handleProtocols: (offered) => unauthenticatedProtocols(offered)[0] ?? false,
    });
    server.on('headers', (lines) => {
      for (const [name, value] of this.answerHeaders())
        if (!notForHandshake.has(name)) lines.push(`${name}: ${String(value)}`);
    });
    const gone = (): void => {
      this.closed(this.ended);
      this.#place.remove();
    };
    socket.once('close', gone);
    server.handleUpgrade(request, socket, this.#head, (webSocket) => {
      this.#webSocket = webSocket;
      webSocket.on('error', () => webSocket.terminate());
      socket.on('drain', () => this.wake());
    });
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { lazyLibrary, type ListElement } from '@multiplane/component-base';
import type * as WebSockets from 'ws';
import type { WebSocket } from 'ws';
import type { UpgradedConnection } from './exchange.ts';
import { unlessFailed } from './base-exchange.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { protocolsWithoutBearer } from './web-socket-protocols.ts';

/** Loaded by the first handshake. */
const loadWebSockets = lazyLibrary<typeof WebSockets>(import.meta.url, 'ws');

/** Clients send nothing on a watch; their messages are dropped. */
const maxMessageBytes = 64 * 1024;
const newline = 0x0a;
/** Status code 1000 (RFC 6455 §7.4.1). */
const normalClosure = 1000;

/** Headers that the handshake sets itself, and headers of a body, which a WebSocket does not have. */
const excludedHeaders = new Set(['connection', 'content-length', 'content-type', 'transfer-encoding', 'upgrade']);

/** True for an HTTP/1.1 request whose only upgrade is a WebSocket. */
function requestsWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade?.trim().toLowerCase() === 'websocket';
}

/**
 * A request with `Upgrade`. It gets an ordinary response on a connection that ends with it, unless the handler calls
 * {@link upgradeToWebSocket}: then `start` completes the handshake (RFC 6455), and every written line becomes one text
 * frame without its line break, as kube-apiserver sends watch events.
 */
export class WebSocketExchange extends Http1Exchange {
  readonly #head: Buffer;
  readonly #position: ListElement<ServerResponse>;
  #isUpgrade = false;
  #webSocket: WebSocket | undefined;

  /** `head`: bytes that the client sent behind its headers. */
  constructor(request: IncomingMessage, response: ServerResponse, head: Buffer, position: ListElement<ServerResponse>) {
    super(request, response, position);
    this.#head = head;
    this.#position = position;
  }

  override upgradeToWebSocket(): void {
    this.#isUpgrade = requestsWebSocket(this.request);
  }

  override takeConnection(): UpgradedConnection {
    const { response, socket } = this;
    // The new owner sends the response; later calls of `respond` must have no effect.
    this.status = 101;
    response.detachSocket(socket);
    socket.once('close', () => {
      this.ended = true;
      this.closed(true);
      this.#position.remove();
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
    if (!this.#isUpgrade || status !== 200) super.sendHeaders(status);
    else this.#completeHandshake();
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

  /** The bytes behind the headers of an upgrade are not an HTTP body. */
  protected override bodySource(): Readable | undefined {
    return undefined;
  }

  protected override refuseBody(): void {}

  /** The library rejects a malformed handshake with 400 or 426. */
  #completeHandshake(): void {
    const { request, response, socket } = this;
    response.detachSocket(socket);
    const { WebSocketServer } = loadWebSockets();
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      handleProtocols: (offered) => protocolsWithoutBearer(offered)[0] ?? false,
    });
    server.on('headers', (lines) => {
      for (const [name, value] of this.responseHeaderMap())
        if (!excludedHeaders.has(name)) lines.push(`${name}: ${String(value)}`);
    });
    const onClose = (): void => {
      this.closed(this.ended);
      this.#position.remove();
    };
    socket.once('close', onClose);
    server.handleUpgrade(request, socket, this.#head, (webSocket) => {
      this.#webSocket = webSocket;
      webSocket.on('error', () => webSocket.terminate());
      socket.on('drain', () => this.wake());
    });
  }
}

import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Clock, Timer } from '@multiplane/component-base';
import type { buildConnector } from 'undici';
import { Connection, type AnswerHandler, type WireRequest } from './connection.ts';
import { requestHead } from './request-head.ts';
import { WireError } from './wire-error.ts';

export interface ConnectionPoolOptions {
  /** Scheme, host and port of the server. */
  readonly origin: string;
  readonly maxConnections: number;
  /** An idle connection is not used after this, nor after what the server says. */
  readonly idleTimeoutMs: number;
  /** Bytes of the head of an answer. */
  readonly maxHeaderBytes: number;
}

export interface ConnectionPoolModules {
  readonly connect: buildConnector.connector;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
}

export interface PoolRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body?: Readable | undefined;
}

/** What a server's word about idle connections is shortened by: an end that is on its way must not meet a request. */
const hintMarginMs = 1_000;

/**
 * HTTP/1.1 connections to one server, each with one request at a time.
 *
 * A request takes the connection that was used last, waits for one to become free, or for a new one while there may be
 * more. Connections belong to nobody: a new one serves whoever waits for longest, and one that cannot be made fails that
 * request alone.
 *
 * A connection that was used before gets its request only at the end of the turn: what lay waiting in its socket by then,
 * an end or bytes that nobody asked for, is seen first. All requests of a turn share that wait.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #modules: ConnectionPoolModules;
  readonly #target: buildConnector.Options;
  readonly #host: string;
  readonly #all = new Set<Connection>();
  /** In order of their last use, and until when they may be used. */
  readonly #free: { readonly connection: Connection; readonly until: number }[] = [];
  #waiting: WireRequest[] = [];
  #settling: { readonly connection: Connection; readonly request: WireRequest }[] = [];
  #connecting = 0;
  #closing = false;
  #destroyed = false;
  #sweeper: Timer | undefined;

  constructor(options: ConnectionPoolOptions, modules: ConnectionPoolModules) {
    this.#options = options;
    this.#modules = modules;
    const { protocol, hostname, host, port } = new URL(options.origin);
    this.#host = host;
    this.#target = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port };
  }

  /** Throws a WireError for a request that cannot be written; everything else the handler is told. */
  dispatch({ method, path, headers, body }: PoolRequest, handler: AnswerHandler): void {
    const head = requestHead({ method, path, headers, hasBody: body !== undefined }, this.#host);
    const request: WireRequest = { method, head, body, handler };
    // Whoever sends it looks at it then.
    body?.on('error', () => undefined);
    // Told later, as everything about requests that failed is.
    if (this.#destroyed) queueMicrotask(() => failed(request));
    else this.#place(request);
  }

  /** Connections end when nobody needs them any more; requests that were given to it are served. */
  close(): void {
    this.#closing = true;
    this.#closeIdle(Number.POSITIVE_INFINITY);
  }

  /** Ends all connections, and the requests on them. */
  destroy(): void {
    this.close();
    this.#destroyed = true;
    const left = [...this.#waiting, ...this.#settling.map(({ request }) => request)];
    this.#waiting = [];
    this.#settling = [];
    for (const connection of this.#all) connection.destroy();
    for (const request of left) failed(request);
  }

  #place(request: WireRequest): void {
    const connection = this.#takeFree();
    if (connection === undefined) {
      this.#waiting.push(request);
      this.#connectAsNeeded();
    } else {
      this.#settle(connection, request);
    }
  }

  #takeFree(): Connection | undefined {
    const now = this.#modules.clock.monotonic();
    for (;;) {
      const last = this.#free.pop();
      if (last === undefined) return undefined;
      if (last.until > now && !last.connection.isGone) return last.connection;
      last.connection.destroy();
    }
  }

  #settle(connection: Connection, request: WireRequest): void {
    this.#settling.push({ connection, request });
    if (this.#settling.length > 1) return;
    setImmediate(() => {
      const settled = this.#settling;
      this.#settling = [];
      for (const one of settled) {
        if (one.connection.isGone) this.#place(one.request);
        else one.connection.send(one.request);
      }
    });
  }

  #connectAsNeeded(): void {
    const { maxConnections } = this.#options;
    while (this.#connecting < this.#waiting.length && this.#connecting + this.#all.size < maxConnections) {
      this.#connecting++;
      this.#modules.connect(this.#target, (...[error, socket]) => {
        this.#connecting--;
        if (error === null) this.#connected(socket);
        else this.#notConnected(error);
      });
    }
  }

  #connected(socket: Socket): void {
    if (this.#destroyed) {
      socket.destroy();
      return;
    }
    const connection = new Connection(this.#options, {
      socket,
      onFree: (free) => this.#onFree(free),
      onGone: (gone) => {
        this.#all.delete(gone);
        if (!this.#destroyed) this.#connectAsNeeded();
      },
    });
    this.#all.add(connection);
    const next = this.#waiting.shift();
    if (next === undefined) this.#keep(connection);
    else connection.send(next);
  }

  #notConnected(error: Error): void {
    const [request] = this.#waiting.splice(0, 1);
    this.#connectAsNeeded();
    if (request === undefined) return;
    request.body?.destroy();
    request.handler.onResponseError(error);
  }

  #onFree(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#keep(connection);
    else this.#settle(connection, next);
  }

  #keep(connection: Connection): void {
    const ms = Math.min(this.#options.idleTimeoutMs, connection.idleHintMs - hintMarginMs);
    if (this.#closing || ms <= 0) {
      connection.destroy();
      return;
    }
    this.#free.push({ connection, until: this.#modules.clock.monotonic() + ms });
    this.#sweeper ??= this.#modules.clock.after(this.#options.idleTimeoutMs / 2, () => {
      this.#sweeper = undefined;
      this.#closeIdle(this.#modules.clock.monotonic());
    });
  }

  /** Closes those that may not be used at a time; looks again while there are others. */
  #closeIdle(time: number): void {
    const idle = this.#free.splice(0);
    for (const one of idle) {
      if (one.connection.isGone) continue;
      if (one.until <= time) one.connection.destroy();
      else this.#free.push(one);
    }
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
    if (this.#free.length === 0) return;
    this.#sweeper = this.#modules.clock.after(this.#options.idleTimeoutMs / 2, () => {
      this.#sweeper = undefined;
      this.#closeIdle(this.#modules.clock.monotonic());
    });
  }
}

function failed({ body, handler }: WireRequest): void {
  body?.destroy();
  handler.onResponseError(new WireError('stopped', 'the connections were given up'));
}

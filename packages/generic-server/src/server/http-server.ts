import { type IncomingMessage, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { Server as TlsServer, type TLSSocket } from 'node:tls';
import {
  LinkedList,
  loopTime,
  systemClock,
  type Certificate,
  type Clock,
  type Runnable,
  type Timer,
} from '@multiplane/component-base';
import { AnswerTurns } from './answer-turns.ts';
import type { BaseExchange } from './base-exchange.ts';
import type { ConnectionTable } from './connection-table.ts';
import { ConnectionTurns } from './connection-turns.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { RequestTurns } from './request-turns.ts';
import { SessionGuard, type SessionLimits } from './session-guard.ts';
import { UnreadBytes } from '../unread-bytes.ts';
import { WebSocketExchange } from './web-socket-exchange.ts';

/** `clientCa` (PEM) is what the server names when it asks for a client certificate; it verifies nothing by itself. */
export interface ServingCertificate extends Certificate {
  readonly clientCa?: string | readonly string[] | undefined;
}

export interface HttpServerOptions extends ServingCertificate {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Bytes of all headers of a request. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  readonly handshakeTimeoutMs: number;
  /** From the first byte of an HTTP/1.1 request to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** The same to the end of its body. */
  readonly requestTimeoutMs: number;
  /** A connection without requests is closed after this. */
  readonly idleTimeoutMs: number;
  readonly maxConcurrentStreams: number;
  readonly session: SessionLimits;
  /** Of complete answers that their clients have not taken yet, all together. */
  readonly maxUnreadBytes: number;
  /** How long requests may run on after the server was told to stop. */
  readonly stopGraceMs: number;
  /** How long connections without a request stay open then: what is on its way on them is answered. */
  readonly stopQuietMs: number;
}

export const defaultHttpServerOptions = {
  host: '0.0.0.0',
  port: 6443,
  maxHeaderBytes: 256 * 1024,
  maxHeaderCount: 256,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 32_000,
  requestTimeoutMs: 90_000,
  idleTimeoutMs: 90_000,
  maxConcurrentStreams: 250,
  session: {
    resets: { burst: 1000, perSecond: 100 },
    pings: { burst: 200, perSecond: 10 },
    settings: { burst: 20, perSecond: 1 },
  },
  maxUnreadBytes: 512 * 1024 * 1024,
  stopGraceMs: 60_000,
  stopQuietMs: 500,
} as const satisfies Omit<HttpServerOptions, keyof ServingCertificate>;

export interface HttpServerModules {
  readonly connections: ConnectionTable;
  /** Answers one request; never rejects. */
  readonly handle: (exchange: BaseExchange) => Promise<void>;
  readonly clock?: Clock | undefined;
  /** Something went wrong with accepting connections; the server goes on. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** A handshake failed. */
  readonly onHandshakeError?: ((error: Error) => void) | undefined;
}

/**
 * One TLS port for HTTP/2 and HTTP/1.1. HTTP/2 goes through node's stream interface: the compatibility layer costs half
 * of the throughput, so the listener that would build its objects is taken away and only HTTP/1.1 uses `request`.
 *
 * Stopping has an order: no new connections; HTTP/2 sessions get GOAWAY and HTTP/1.1 answers say `Connection: close`;
 * requests that run may finish (whoever ends watches does so before, or meanwhile); what is left after the grace period
 * is cut. HTTP/1.1 has no GOAWAY: a request that meets a connection in the moment in which it is closed was not done,
 * but its sender cannot know that. So idle ones stay open for a moment in which whatever comes is answered; in use are
 * only those of them that were used just now, so that is the end of all that matter.
 */
export class HttpServer implements Runnable {
  readonly name = 'https';
  readonly #options: HttpServerOptions;
  readonly #modules: HttpServerModules;
  readonly #server: Http2SecureServer;
  readonly #sessions = new LinkedList<{ readonly session: ServerHttp2Session; readonly guard: SessionGuard }>();
  readonly #http1 = new LinkedList<ServerResponse>();
  readonly #clock: Clock;
  readonly #turns: RequestTurns;
  readonly #answers = new AnswerTurns();
  readonly #unread: UnreadBytes;
  readonly #arrivals: ConnectionTurns;
  #stopping = false;
  #sweeper: Timer | undefined;
  #port = 0;
  /** Whose session is being made. */
  #handshaken: TLSSocket | undefined;

  constructor(options: HttpServerOptions, modules: HttpServerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#clock = modules.clock ?? systemClock;
    this.#unread = new UnreadBytes({ max: options.maxUnreadBytes });
    this.#turns = new RequestTurns({ time: loopTime });
    this.#arrivals = new ConnectionTurns({ clock: this.#clock, time: loopTime, isStopping: () => this.#stopping });
    const http1Options = {
      maxHeaderSize: options.maxHeaderBytes,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(5_000, options.headersTimeoutMs / 2),
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      // A request without a body needs no stream that is drained to its end.
      optimizeEmptyRequests: true,
    };
    this.#server = createSecureServer({
      ...secureContext(options),
      ...http1Options,
      allowHTTP1: true,
      minVersion: 'TLSv1.2',
      requestCert: true,
      // Whether a certificate is good is for authentication to say: it must answer 401, not a broken handshake.
      rejectUnauthorized: false,
      handshakeTimeout: options.handshakeTimeoutMs,
      maxHeaderListPairs: options.maxHeaderCount,
      maxSessionMemory: 64,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      noDelay: true,
      settings: {
        maxConcurrentStreams: options.maxConcurrentStreams,
        maxHeaderListSize: options.maxHeaderBytes,
        initialWindowSize: 256 * 1024,
        enablePush: false,
      },
    });
    // One more than allowed: the parser drops what is beyond silently, and half a request must not be answered.
    (this.#server as unknown as { maxHeadersCount: number }).maxHeadersCount = options.maxHeaderCount + 1;
    this.#listenForRequests();
  }

  /** Resolves when connections are accepted. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.removeListener('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        this.#sweep();
        resolve();
      });
    });
  }

  /** The port that was asked for, or the one that was free; 0 before the start. */
  get port(): number {
    return this.#port;
  }

  /** Handshakes from now on use this; connections that exist go on. */
  reloadCertificate(certificate: ServingCertificate): void {
    this.#server.setSecureContext(secureContext(certificate));
  }

  /** Requests that are being answered. */
  get inFlight(): number {
    let streams = this.#http1.size;
    for (const { guard } of this.#sessions) streams += guard.openStreams;
    return streams;
  }

  /** Stops gracefully; resolves when every connection is closed. Call it once. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#sweeper?.cancel();
    const closed = new Promise<void>((resolve) => {
      // Of the class above: node's own would close idle HTTP/1.1 connections at once. An error says that it never ran.
      TlsServer.prototype.close.call(this.#server, () => resolve());
    });
    for (const response of this.#http1) {
      if (!response.headersSent) response.setHeader('connection', 'close');
    }
    for (const { session } of this.#sessions) session.close();
    const quiet = this.#clock.after(Math.min(this.#options.stopQuietMs, this.#options.stopGraceMs), () => {
      this.#server.close();
    });
    const cut = this.#clock.after(this.#options.stopGraceMs, () => {
      for (const { session } of this.#sessions) session.destroy();
      this.#modules.connections.destroyAll();
    });
    await closed;
    quiet.cancel();
    cut.cancel();
    // What node keeps beside connections ends, too.
    this.#server.close();
  }

  #listenForRequests(): void {
    const server = this.#server;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#onRequest(request, response));
    server.on('upgrade', (request: IncomingMessage, _socket: Socket, head: Buffer) => this.#onUpgrade(request, head));
    server.removeAllListeners('stream');
    // Nobody is refused later than at once; who is let in waits for the turn of its handshake, and of its session.
    const handshake = this.#arrivals.takeEvent<Socket>(server, 'connection');
    server.on('connection', (socket: Socket) => {
      if (this.#modules.connections.accept(socket)) handshake(socket);
    });
    // Node makes the session within this event; its own `session.socket` is a proxy that hides the socket.
    const begin = this.#arrivals.takeEvent<TLSSocket>(server, 'secureConnection', (socket) => {
      this.#handshaken = socket;
    });
    server.on('secureConnection', (socket: TLSSocket) => this.#arrivals.whenItSpeaks(socket, begin));
    server.on('session', (session: ServerHttp2Session) => this.#onSession(session, this.#handshaken as TLSSocket));
    server.on('tlsClientError', (error: Error) => this.#modules.onHandshakeError?.(error));
    // Too many open files, for one: without a listener it would end the process.
    server.on('error', (error: Error) => this.#modules.onError?.(error));
    // Errors of a session end that session; without a listener node would do the same, but print them.
    server.on('sessionError', () => undefined);
  }

  /** Closes idle sessions now and then: node's own session timer is set anew for every frame. */
  #sweep(): void {
    const { idleTimeoutMs } = this.#options;
    const now = this.#clock.monotonic();
    for (const { session, guard } of this.#sessions) if (guard.isIdle(now - idleTimeoutMs)) session.close();
    this.#sweeper = this.#clock.after(idleTimeoutMs / 4, () => this.#sweep());
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (request.rawHeaders.length > this.#options.maxHeaderCount * 2) {
      response.writeHead(431, { connection: 'close' }).end();
      return;
    }
    const exchange = new Http1Exchange(request, response, this.#http1.add(response), this.#answers, this.#unread);
    if (this.#stopping) exchange.setHeader('connection', 'close');
    this.#turns.begin(() => void this.#modules.handle(exchange));
  }

  #onUpgrade(request: IncomingMessage, head: Buffer): void {
    // Node lets go of the connection here: what is answered plainly ends it.
    const response = new ServerResponse(request);
    response.assignSocket(request.socket);
    response.shouldKeepAlive = false;
    response.on('finish', () => request.socket.end());
    request.socket.on('error', () => undefined);
    void this.#modules.handle(new WebSocketExchange(request, response, head, this.#http1.add(response)));
  }

  #onSession(session: ServerHttp2Session, socket: TLSSocket): void {
    this.#arrivals.breakInTurn(socket);
    const guard = new SessionGuard(session, this.#options.session, () => this.#clock.monotonic());
    const place = this.#sessions.add({ session, guard });
    session.on('close', () => place.remove());
    const onStreamClose = (stream: ServerHttp2Stream): void => guard.closed(stream.aborted);
    session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      guard.openStreams++;
      const exchange = new Http2Exchange(stream, headers, raw, socket, onStreamClose, this.#unread);
      if (headers[':path'] === undefined) exchange.respond(405, '');
      else this.#turns.begin(() => void this.#modules.handle(exchange));
    });
    if (this.#stopping) session.close();
  }
}

function secureContext(certificate: ServingCertificate): { cert: string; key: string; ca?: string[] } {
  const { clientCa } = certificate;
  return {
    cert: certificate.certificatePem,
    key: certificate.privateKeyPem,
    ...(clientCa === undefined ? {} : { ca: typeof clientCa === 'string' ? [clientCa] : [...clientCa] }),
  };
}

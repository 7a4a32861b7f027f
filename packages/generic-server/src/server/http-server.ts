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
  eventLoopScheduler,
  systemClock,
  type Certificate,
  type Clock,
  type Runnable,
  type Timer,
} from '@multiplane/component-base';
import { ResponseCoalescer } from './response-coalescer.ts';
import type { BaseExchange, ExchangeLimits } from './base-exchange.ts';
import type { ConnectionTable } from './connection-table.ts';
import { ConnectionPacer } from './connection-pacer.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { RequestBatcher } from './request-batcher.ts';
import { SessionGuard, type SessionLimits } from './session-guard.ts';
import { OutboundBufferLimiter } from './outbound-buffer-limiter.ts';
import { RequestBodyLimiter } from './request-body-limiter.ts';
import { WebSocketExchange } from './web-socket-exchange.ts';

/** `clientCa` (PEM) names the CAs in the request for a client certificate; verification is left to authenticators. */
export interface ServingCertificate extends Certificate {
  readonly clientCa?: string | readonly string[] | undefined;
}

export interface HttpServerOptions extends ServingCertificate {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  /** Total bytes of the headers of a request. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  readonly handshakeTimeoutMs: number;
  /** From the first byte of an HTTP/1.1 request to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of an HTTP/1.1 request to the end of its body. */
  readonly requestTimeoutMs: number;
  /** Connections without requests are closed after this time. */
  readonly idleTimeoutMs: number;
  readonly maxConcurrentStreams: number;
  readonly session: SessionLimits;
  /** Requests on one HTTP/1.1 connection that may wait for the response to an earlier one. */
  readonly maxPipelinedRequests: number;
  /** Bytes of responses that clients have not accepted yet. */
  readonly maxOutboundBufferBytes: number;
  /** The same for the responses to one user. */
  readonly maxOutboundBufferBytesPerUser: number;
  /** Bytes of request bodies that are being received, and of those of one user. */
  readonly maxBodyBytes: number;
  readonly maxBodyBytesPerUser: number;
  /** Slower request bodies are refused, {@link minBodyRateGraceMs} after their headers at the earliest. */
  readonly minBodyBytesPerSecond: number;
  readonly minBodyRateGraceMs: number;
  /** How long running requests may take after {@link HttpServer.stop} was called. */
  readonly stopGraceMs: number;
  /** How long idle connections stay open after that, to serve requests that are in flight on them. */
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
  maxPipelinedRequests: 100,
  maxOutboundBufferBytes: 512 * 1024 * 1024,
  maxOutboundBufferBytesPerUser: 64 * 1024 * 1024,
  maxBodyBytes: 256 * 1024 * 1024,
  maxBodyBytesPerUser: 32 * 1024 * 1024,
  minBodyBytesPerSecond: 4 * 1024,
  minBodyRateGraceMs: 10_000,
  stopGraceMs: 60_000,
  stopQuietMs: 500,
} as const satisfies Omit<HttpServerOptions, keyof ServingCertificate>;

export interface HttpServerModules {
  readonly connections: ConnectionTable;
  /** Responds to one request; never rejects. */
  readonly handle: (exchange: BaseExchange) => Promise<void>;
  readonly clock?: Clock | undefined;
  /** Accepting connections failed; the server continues. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** A TLS handshake failed. */
  readonly onHandshakeError?: ((error: Error) => void) | undefined;
}

/**
 * One TLS port for HTTP/2 and HTTP/1.1. HTTP/2 uses Node's stream interface, because the compatibility layer halves the
 * throughput: the listener that creates its objects is removed, and only HTTP/1.1 emits `request`.
 *
 * Shutdown: no new connections are accepted; HTTP/2 sessions get GOAWAY and HTTP/1.1 responses `Connection: close`;
 * running requests may finish (the caller ends watches); after the grace period the remaining connections are closed.
 * HTTP/1.1 has no GOAWAY, so a client cannot know whether a request on a connection that is being closed was processed.
 * Idle connections therefore stay open for a short time in which requests are still served. Clients that hold a connection
 * without using it are not affected by its end.
 */
export class HttpServer implements Runnable {
  readonly name = 'https';
  readonly #options: HttpServerOptions;
  readonly #modules: HttpServerModules;
  readonly #server: Http2SecureServer;
  readonly #sessions = new LinkedList<{ readonly session: ServerHttp2Session; readonly guard: SessionGuard }>();
  readonly #http1 = new LinkedList<ServerResponse>();
  readonly #clock: Clock;
  readonly #batcher: RequestBatcher;
  readonly #coalescer = new ResponseCoalescer();
  readonly #limits: ExchangeLimits;
  readonly #pacer: ConnectionPacer;
  readonly #http1Connections = new WeakMap<Socket, Http1Connection>();
  #stopping = false;
  #idleTimer: Timer | undefined;
  #port = 0;
  /** The socket whose session is being created. */
  #sessionSocket: TLSSocket | undefined;

  constructor(options: HttpServerOptions, modules: HttpServerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#clock = modules.clock ?? systemClock;
    this.#limits = {
      unread: new OutboundBufferLimiter({
        max: options.maxOutboundBufferBytes,
        maxPerOwner: options.maxOutboundBufferBytesPerUser,
      }),
      bodies: new RequestBodyLimiter(
        {
          maxBytes: options.maxBodyBytes,
          maxBytesPerOwner: options.maxBodyBytesPerUser,
          minBytesPerSecond: options.minBodyBytesPerSecond,
          graceMs: options.minBodyRateGraceMs,
        },
        { clock: this.#clock },
      ),
    };
    this.#batcher = new RequestBatcher({ scheduler: eventLoopScheduler });
    this.#pacer = new ConnectionPacer({
      clock: this.#clock,
      scheduler: eventLoopScheduler,
      isStopping: () => this.#stopping,
    });
    const http1Options = {
      maxHeaderSize: options.maxHeaderBytes,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      keepAliveTimeout: options.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(5_000, options.headersTimeoutMs / 2),
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      // Checked here, where each request starts in its turn.
      requireHostHeader: false,
      // Requests without a body need no body stream.
      optimizeEmptyRequests: true,
    };
    this.#server = createSecureServer({
      ...secureContext(options),
      ...http1Options,
      allowHTTP1: true,
      minVersion: 'TLSv1.2',
      requestCert: true,
      // Authentication verifies certificates: a bad one gets 401 instead of a failed handshake.
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
    const http1 = this.#server as unknown as Http1ServerProperties;
    // One more than allowed: the parser silently drops further headers, and a truncated request must be rejected.
    http1.maxHeadersCount = options.maxHeaderCount + 1;
    http1.httpAllowHalfOpen = true;
    // A server may ignore an upgrade (RFC 9110 §7.8): to HTTP/2, with a body, or while the connection still has to transfer a response.
    http1.shouldUpgradeCallback = (request) =>
      request.headers.upgrade?.toLowerCase() !== 'h2c' &&
      !hasBody(request) &&
      this.#http1Connections.get(request.socket)?.canUpgrade === true;
    this.#listenForRequests();
  }

  /** Resolves once connections are accepted. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.removeListener('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        this.#closeIdleSessions();
        resolve();
      });
    });
  }

  /** The listening port; 0 before the start. */
  get port(): number {
    return this.#port;
  }

  /** New handshakes use this certificate; existing connections continue. */
  reloadCertificate(certificate: ServingCertificate): void {
    this.#server.setSecureContext(secureContext(certificate));
  }

  /** Requests without a complete response. */
  get inFlight(): number {
    let streams = this.#http1.size;
    for (const { guard } of this.#sessions) streams += guard.openStreams;
    return streams;
  }

  /** Stops gracefully; resolves once every connection is closed. To be called once. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#idleTimer?.cancel();
    const closed = new Promise<void>((resolve) => {
      // The base class only stops listening; Http2SecureServer.close would close idle HTTP/1.1 connections immediately. It
      // reports an error if the server was never started, which is ignored.
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
    // Ends the timers of the HTTP server.
    this.#server.close();
  }

  #listenForRequests(): void {
    const server = this.#server;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#onRequest(request, response));
    // Node would send the interim response at once, or queue that of a pipelined request and send it within the response.
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      this.#onRequest(request, response, 'continue');
    });
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      this.#onRequest(request, response, 'unknown');
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      const connection = this.#http1Connections.get(socket);
      if (connection === undefined) socket.destroy(error);
      else connection.reject(error);
    });
    // Node closes the connection without a response otherwise.
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
    server.on('upgrade', (request: IncomingMessage, _socket: Socket, head: Buffer) => this.#onUpgrade(request, head));
    server.removeAllListeners('stream');
    // Connections are rejected immediately; the handshakes and sessions of accepted ones are paced.
    const handshake = this.#pacer.deferEvent<Socket>(server, 'connection');
    server.on('connection', (socket: Socket) => {
      if (this.#modules.connections.accept(socket)) handshake(socket);
    });
    // Runs after Node has attached its HTTP server or created the session.
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') return;
      const connection = new Http1Connection(this.#options, { socket, clock: this.#clock });
      this.#http1Connections.set(socket, connection);
    });
    // Node creates the session within this event; `session.socket` is a proxy that hides the socket.
    const startSession = this.#pacer.deferEvent<TLSSocket>(server, 'secureConnection', (socket) => {
      this.#sessionSocket = socket;
    });
    server.on('secureConnection', (socket: TLSSocket) => this.#pacer.awaitFirstBytes(socket, startSession));
    server.on('session', (session: ServerHttp2Session) => this.#onSession(session, this.#sessionSocket as TLSSocket));
    server.on('tlsClientError', (error: Error) => this.#modules.onHandshakeError?.(error));
    // For example too many open files; without a listener the process would exit.
    server.on('error', (error: Error) => this.#modules.onError?.(error));
    // A session ends with its error; without a listener Node would also print it.
    server.on('sessionError', () => undefined);
  }

  /** Closes idle sessions periodically, because Node's session timeout restarts with every frame. */
  #closeIdleSessions(): void {
    const { idleTimeoutMs } = this.#options;
    const now = this.#clock.monotonic();
    for (const { session, guard } of this.#sessions) if (guard.isIdle(now - idleTimeoutMs)) session.close();
    this.#idleTimer = this.#clock.after(idleTimeoutMs / 4, () => this.#closeIdleSessions());
  }

  /** `expectation`: what the client expects before it sends the body. */
  #onRequest(request: IncomingMessage, response: ServerResponse, expectation?: 'continue' | 'unknown'): void {
    const { rawHeaders } = request;
    const refusal = expectation === 'unknown' ? 417 : this.#refusalOf(request);
    // Node's parser drops what follows an upgrade, also one that is ignored, so the client must not expect further responses.
    if (countHeader(rawHeaders, 'upgrade') > 0 && !hasBody(request)) response.shouldKeepAlive = false;
    this.#http1Connections.get(request.socket)?.startInTurn(request, response, () => {
      if (refusal === undefined) this.#start(request, response, expectation === 'continue');
      else response.writeHead(refusal, { connection: 'close' }).end();
    });
  }

  /** The status of a request that no handler gets. */
  #refusalOf({ rawHeaders, httpVersion }: IncomingMessage): number | undefined {
    if (rawHeaders.length > this.#options.maxHeaderCount * 2) return 431;
    // Servers behind this one might take another of several hosts (RFC 9112 §3.2).
    const hosts = countHeader(rawHeaders, 'host');
    return hosts > 1 || (hosts === 0 && httpVersion === '1.1') ? 400 : undefined;
  }

  #start(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    this.#modules.connections.requestStarted(request.socket as TLSSocket, response);
    const exchange = new Http1Exchange(request, response, this.#http1.add(response), this.#coalescer, this.#limits);
    exchange.awaitsContinue = awaitsContinue;
    if (this.#stopping) exchange.setHeader('connection', 'close');
    this.#handle(exchange);
  }

  #onUpgrade(request: IncomingMessage, head: Buffer): void {
    const { socket } = request;
    socket.on('error', () => undefined);
    this.#http1Connections.get(socket)?.upgrade(() => {
      // Node detaches the connection from the HTTP server, so an ordinary response ends it.
      const response = new ServerResponse(request);
      response.assignSocket(socket);
      response.shouldKeepAlive = false;
      response.on('finish', () => socket.end());
      this.#modules.connections.requestStarted(socket as TLSSocket, socket);
      void this.#modules.handle(new WebSocketExchange(request, response, head, this.#http1.add(response)));
    });
  }

  #onSession(session: ServerHttp2Session, socket: TLSSocket): void {
    this.#pacer.deferTeardown(socket);
    const guard = new SessionGuard(session, this.#options.session, () => this.#clock.monotonic());
    const position = this.#sessions.add({ session, guard });
    session.on('close', () => position.remove());
    const onStreamClose = (stream: ServerHttp2Stream): void => guard.streamClosed(stream.aborted);
    session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      guard.openStreams++;
      this.#modules.connections.requestStarted(socket, stream);
      const exchange = new Http2Exchange(stream, headers, raw, socket, onStreamClose, this.#limits);
      if (headers[':path'] === undefined) exchange.respond(405, '');
      else this.#handle(exchange);
    });
    if (this.#stopping) session.close();
  }

  #handle(exchange: BaseExchange): void {
    this.#batcher.start(() => {
      // The client may have left while the request waited for its batch.
      if (!exchange.isClosed) void this.#modules.handle(exchange);
    }, ownerOf(exchange));
  }
}

/** Without the object that Node makes of all headers when it is asked for one. `name`: in lower case. */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const found = rawHeaders[i] as string;
    if (found.length === name.length && found.toLowerCase() === name) count++;
  }
  return count;
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

/** Properties that Node's HTTP servers have, and its HTTP/2 servers too if they serve HTTP/1.1. */
interface Http1ServerProperties {
  maxHeadersCount: number;
  /** False: Node ends a connection when the client ends its side, whether or not it waits for a response. */
  httpAllowHalfOpen: boolean;
  shouldUpgradeCallback: (request: IncomingMessage) => boolean;
}

/** What a request authenticates with, before this is verified: its token, the user that a proxy vouches for, or its connection. */
const ownerOf = ({ headers, socket }: BaseExchange): unknown =>
  headers.authorization ?? headers['x-remote-user'] ?? socket;

function secureContext(certificate: ServingCertificate): { cert: string; key: string; ca?: string[] } {
  const { clientCa } = certificate;
  return {
    cert: certificate.certificatePem,
    key: certificate.privateKeyPem,
    ...(clientCa === undefined ? {} : { ca: typeof clientCa === 'string' ? [clientCa] : [...clientCa] }),
  };
}

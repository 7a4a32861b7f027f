import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { EtcdTls } from './etcd-tls.ts';

export interface GrpcSessionOptions {
  /** `http://host:port` or `https://host:port` of the members. */
  readonly endpoints: readonly string[];
  readonly tls: EtcdTls | undefined;
}

/** TCP connect and TLS handshake together. */
const connectTimeoutMs = 5000;
/** A connection on which responses are outstanding is pinged after this time without a byte … */
const silenceMs = 3000;
/** … and closed without a response within this one. */
const pingTimeoutMs = 4000;
/** etcd closes connections with more frequent pings, or with pings while no stream is open. */
const minPingIntervalMs = 5200;
const checkIntervalMs = 500;
/** Lists are large, and their values are read immediately. */
const windowBytes = 8 << 20;

/** An HTTP/2 connection to one member, and its liveness. */
export interface GrpcConnection {
  readonly session: ClientHttp2Session;
  /** The handshake is complete; before that, requests provably have not left this process. */
  isOpen: boolean;
  /** Calls without a complete response, counted by the callers. */
  calls: number;
  heardAt: number;
  pingedAt: number;
  isPinging: boolean;
}

/** The text of failures of requests that have not left this process, and of no others; `classify` reads it. */
export const unsentText = 'No connection established';

/**
 * One HTTP/2 connection for many gRPC calls, established on demand. After a failure the next call connects to the next
 * member. A call is never moved to another connection, and nothing is retried here.
 */
export class GrpcSession {
  readonly #options: GrpcSessionOptions;
  #connection: GrpcConnection | undefined;
  #nextEndpoint = 0;
  #closed = false;

  constructor(options: GrpcSessionOptions) {
    this.#options = options;
  }

  /** Opens a stream for a call. Throws after {@link close}. */
  open(path: string, timeout?: string): { readonly stream: ClientHttp2Stream; readonly connection: GrpcConnection } {
    if (this.#closed) throw new Error(`14 UNAVAILABLE: ${unsentText}: the client is closed`);
    const connection = this.#connected();
    const { endpoint, session } = connection;
    // Node sends requests from here on, and emits `connect` a little later.
    if (!session.connecting) connection.isOpen = true;
    // Node accepts a list without copying it; its types do not declare that.
    const headers: string[] = [
      ':method',
      'POST',
      ':path',
      path,
      ':scheme',
      endpoint.protocol.slice(0, -1),
      ':authority',
      endpoint.host,
      'te',
      'trailers',
      'content-type',
      'application/grpc',
    ];
    if (timeout !== undefined) headers.push('grpc-timeout', timeout);
    return { stream: session.request(headers), connection };
  }

  close(): void {
    this.#closed = true;
    this.#connection?.session.destroy();
  }

  #connected(): EndpointConnection {
    const { endpoints, tls } = this.#options;
    const known = this.#connection;
    if (known !== undefined && !known.session.closed && !known.session.destroyed) return known as EndpointConnection;
    const connection = connectTo(new URL(endpoints[this.#nextEndpoint % endpoints.length] as string), tls);
    this.#connection = connection;
    connection.session.once('close', () => {
      if (this.#connection === connection) this.#nextEndpoint++;
    });
    return connection;
  }
}

interface EndpointConnection extends GrpcConnection {
  readonly endpoint: URL;
}

function connectTo(endpoint: URL, tls: EtcdTls | undefined): EndpointConnection {
  const session = connect(endpoint, {
    ...(tls === undefined ? {} : { ca: tls.authority, cert: tls.certificate, key: tls.privateKey }),
    settings: { initialWindowSize: windowBytes, enablePush: false },
    // Callers bound what they request.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
  const connection: EndpointConnection = {
    endpoint,
    session,
    isOpen: false,
    calls: 0,
    heardAt: performance.now(),
    pingedAt: 0,
    isPinging: false,
  };
  const late = setTimeout(() => session.destroy(new Error('connect timeout')), connectTimeoutMs).unref();
  const check = setInterval(() => checkLiveness(connection), checkIntervalMs).unref();
  session.once('connect', () => {
    clearTimeout(late);
    // Node emits it also for a session that was destroyed during the handshake.
    if (session.destroyed) return;
    connection.isOpen = true;
    connection.heardAt = performance.now();
    session.setLocalWindowSize(windowBytes);
  });
  // Each call gets the error, too.
  session.on('error', () => undefined);
  session.once('close', () => {
    clearTimeout(late);
    clearInterval(check);
  });
  return connection;
}

/** Detects a peer that is gone while responses are outstanding. */
function checkLiveness(connection: GrpcConnection): void {
  const { session, isOpen, calls, heardAt, pingedAt, isPinging } = connection;
  const now = performance.now();
  if (!isOpen || session.destroyed) return;
  if (isPinging) {
    if (now - pingedAt > pingTimeoutMs) session.destroy(new Error('the peer does not respond to a ping'));
    return;
  }
  if (calls === 0 || now - heardAt < silenceMs || now - pingedAt < minPingIntervalMs) return;
  connection.pingedAt = now;
  connection.isPinging = session.ping(() => {
    connection.isPinging = false;
    connection.heardAt = performance.now();
  });
}

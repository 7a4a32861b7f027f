import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { classifyFailure } from './error-classification.ts';
import { copyResponseHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';
import type { OutgoingRequest } from './relay.ts';
import { tlsOptions, type PendingRequest, type Upstream } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

/**
 * One request that upgrades its connection (WebSocket, SPDY). It gets its own upstream connection outside of the pools.
 * After 101 both connections are joined byte by byte; after any other response both are closed. A failed upgrade
 * therefore leaves no connection that could be reused with the proxy's identity (CVE-2018-1002105): nothing that the
 * client sends before the upstream agrees is forwarded.
 */
export class Upgrade implements PendingRequest {
  readonly longRunning = true;
  readonly isSafeToRetry = true;
  listElement: PendingRequest['listElement'];
  sentAt = 0;
  isReleased = false;
  readonly #exchange: ProxyExchange;
  readonly #upstream: Upstream;
  readonly #connectTimeoutMs: number;
  readonly #done = Promise.withResolvers<void>();
  #outgoing: ClientRequest | undefined;
  /** Closes both connections once they are joined. */
  #closeBoth: (() => void) | undefined;
  #delivered = false;
  #responseStarted = false;
  #finished = false;

  constructor(exchange: ProxyExchange, upstream: Upstream, options: { readonly connectTimeoutMs: number }) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#connectTimeoutMs = options.connectTimeoutMs;
  }

  /** As `Relay.run`. */
  run({ method, path, headers }: OutgoingRequest): Promise<void> {
    const { signal } = this.#exchange;
    if (signal.aborted) {
      this.#upstream.onFinished(this);
      return Promise.resolve();
    }
    const base = new URL(this.#upstream.origin);
    const secure = base.protocol === 'https:';
    const host = base.hostname.replace(/^\[|\]$/g, '');
    const protocol = String(this.#exchange.headers['upgrade']);
    signal.addEventListener('abort', this.#onClientAbort);
    this.#upstream.onSent(this);
    let outgoing: ClientRequest;
    try {
      outgoing = (secure ? httpsRequest : httpRequest)({
        agent: false,
        host,
        port: base.port === '' ? (secure ? 443 : 80) : base.port,
        method,
        path,
        headers: ['host', base.host, ...headers, 'connection', 'Upgrade', 'upgrade', protocol],
        setDefaultHeaders: false,
        ...(secure ? tlsOptions(this.#upstream.identity) : {}),
      });
    } catch (cause) {
      this.#finish(new UpstreamError('malformed', { cause }));
      return this.#done.promise;
    }
    this.#outgoing = outgoing;
    // The timeout covers the connect only; the upstream monitors liveness afterwards.
    outgoing.setTimeout(this.#connectTimeoutMs, () => {
      this.#upstream.onConnectTimeout();
      outgoing.destroy(new Error('connect timeout'));
    });
    outgoing.on('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        outgoing.setTimeout(0);
        this.#delivered = true;
      });
    });
    outgoing.on('error', (error) => {
      this.#finish(new UpstreamError(classifyFailure(error, this.#delivered && method !== 'GET'), { cause: error }));
    });
    outgoing.on('response', (response) => this.#onDeclined(response));
    outgoing.on('upgrade', (response, socket, head) => this.#onUpgraded(response, socket, head));
    outgoing.on('close', () => {
      if (!this.#responseStarted) this.#finish(new UpstreamError('unreachable'));
    });
    outgoing.end();
    return this.#done.promise;
  }

  fail(error: UpstreamError): void {
    this.#finish(error);
    this.#outgoing?.destroy();
    this.#closeBoth?.();
  }

  /** Other protocols have no end of stream that the proxy could send, so the connections are closed. */
  end(): void {
    this.#closeBoth?.();
  }

  readonly #onClientAbort = (): void => {
    this.#finish();
    this.#outgoing?.destroy();
  };

  /** The upstream declined the upgrade: its response is forwarded and both connections are closed. */
  #onDeclined(response: IncomingMessage): void {
    const exchange = this.#exchange;
    this.#upstream.onResponseStarted(this);
    this.#responseStarted = true;
    copyResponseHeaders(headersByName(response.rawHeaders), exchange);
    exchange.setHeader('connection', 'close');
    exchange.start(response.statusCode ?? 502);
    response.on('data', (chunk: Buffer) => {
      if (exchange.write(chunk)) return;
      response.pause();
      void exchange.drained().then(() => response.resume());
    });
    response.on('end', () => {
      if (!response.complete) return;
      exchange.end();
      this.#finish();
      this.#outgoing?.destroy();
    });
    response.on('close', () => this.#finish(new UpstreamError('unanswered')));
  }

  #onUpgraded(response: IncomingMessage, upstream: Duplex, upstreamHead: Buffer): void {
    const taken = this.#exchange.takeConnection?.();
    if (this.#finished || taken === undefined) {
      upstream.destroy();
      return;
    }
    this.#upstream.onResponseStarted(this);
    this.#responseStarted = true;
    const { socket: client, head } = taken;
    client.write(switchingProtocols(response.rawHeaders), 'latin1');
    if (upstreamHead.length > 0) client.write(upstreamHead);
    if (head.length > 0) upstream.write(head);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
      this.#finish();
    };
    this.#closeBoth = end;
    for (const side of [client, upstream]) {
      side.on('error', end);
      side.on('close', end);
    }
    // `pipe` applies back-pressure and forwards each end separately: both protocols may use half-closed connections.
    upstream.pipe(client);
    client.pipe(upstream);
  }

  #finish(error?: UpstreamError): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#exchange.signal.removeEventListener('abort', this.#onClientAbort);
    this.#upstream.onFinished(this);
    if (error === undefined) {
      this.#done.resolve();
    } else if (this.#responseStarted) {
      this.#exchange.destroy();
      this.#done.resolve();
    } else {
      this.#done.reject(error);
    }
  }
}

function headersByName(raw: readonly string[]): Record<string, string[]> {
  const headers = Object.create(null) as Record<string, string[]>;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    (headers[name] ??= []).push(raw[i + 1] as string);
  }
  return headers;
}

/** The handshake headers are forwarded unchanged, including `Upgrade`, `Connection` and the WebSocket keys. */
function switchingProtocols(raw: readonly string[]): string {
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (let i = 0; i + 1 < raw.length; i += 2) lines.push(`${raw[i]}: ${raw[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { failureOf } from './failures.ts';
import { copyResponseHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';
import type { OutgoingRequest } from './relay.ts';
import { tlsOptions, type Pending, type Upstream } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

/**
 * One request that wants another protocol on its connection (WebSocket, SPDY). It gets a connection of its own to the
 * upstream, which is never put into a pool: after 101 both are joined byte by byte, and after any other answer it is
 * closed with that answer, as is the client's. So a failed upgrade leaves nothing that could be used again under the
 * proxy's identity (CVE-2018-1002105): what the client sends before the upstream agreed goes nowhere.
 */
export class Upgrade implements Pending {
  readonly longRunning = true;
  readonly isHarmless = true;
  place: Pending['place'];
  owedSince = 0;
  hasLeft = false;
  readonly #exchange: ProxyExchange;
  readonly #upstream: Upstream;
  readonly #connectTimeoutMs: number;
  readonly #done = Promise.withResolvers<void>();
  #outgoing: ClientRequest | undefined;
  /** Closes both sides once they are joined. */
  #ends: (() => void) | undefined;
  #delivered = false;
  #began = false;
  #over = false;

  constructor(exchange: ProxyExchange, upstream: Upstream, options: { readonly connectTimeoutMs: number }) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#connectTimeoutMs = options.connectTimeoutMs;
  }

  /** As `Relay.run`. */
  run({ method, path, headers }: OutgoingRequest): Promise<void> {
    const { signal } = this.#exchange;
    if (signal.aborted) {
      this.#upstream.over(this);
      return Promise.resolve();
    }
    const base = new URL(this.#upstream.origin);
    const secure = base.protocol === 'https:';
    const host = base.hostname.replace(/^\[|\]$/g, '');
    const protocol = String(this.#exchange.headers['upgrade']);
    signal.addEventListener('abort', this.#onClientGone);
    this.#upstream.sent(this);
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
    // For the connection alone; an answer may take its time, and the upstream watches over its life.
    outgoing.setTimeout(this.#connectTimeoutMs, () => {
      this.#upstream.unreachable();
      outgoing.destroy(new Error('no connection in time'));
    });
    outgoing.on('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        outgoing.setTimeout(0);
        this.#delivered = true;
      });
    });
    outgoing.on('error', (error) => {
      this.#finish(new UpstreamError(failureOf(error, this.#delivered && method !== 'GET'), { cause: error }));
    });
    outgoing.on('response', (response) => this.#onRefused(response));
    outgoing.on('upgrade', (response, socket, head) => this.#onUpgraded(response, socket, head));
    outgoing.on('close', () => {
      if (!this.#began) this.#finish(new UpstreamError('unreachable'));
    });
    outgoing.end();
    return this.#done.promise;
  }

  fail(error: UpstreamError): void {
    this.#finish(error);
    this.#outgoing?.destroy();
    this.#ends?.();
  }

  /** Protocols that are not HTTP know no proper end that a stranger could give them. */
  end(): void {
    this.#ends?.();
  }

  readonly #onClientGone = (): void => {
    this.#finish();
    this.#outgoing?.destroy();
  };

  /** A plain answer, passed on like any other; it is the last one on both connections. */
  #onRefused(response: IncomingMessage): void {
    const exchange = this.#exchange;
    this.#upstream.streams(this);
    this.#began = true;
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
    if (this.#over || taken === undefined) {
      upstream.destroy();
      return;
    }
    this.#upstream.streams(this);
    this.#began = true;
    const { socket: client, head } = taken;
    client.write(switchingProtocols(response.rawHeaders), 'latin1');
    if (upstreamHead.length > 0) client.write(upstreamHead);
    if (head.length > 0) upstream.write(head);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
      this.#finish();
    };
    this.#ends = end;
    for (const side of [client, upstream]) {
      side.on('error', end);
      side.on('close', end);
    }
    // `pipe` waits for the slower side and passes each end on: half-closed is a state both protocols may use.
    upstream.pipe(client);
    client.pipe(upstream);
  }

  #finish(error?: UpstreamError): void {
    if (this.#over) return;
    this.#over = true;
    this.#exchange.signal.removeEventListener('abort', this.#onClientGone);
    this.#upstream.over(this);
    if (error === undefined) {
      this.#done.resolve();
    } else if (this.#began) {
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

/** The handshake's headers go through as they are: `Upgrade`, `Connection` and the keys of WebSockets among them. */
function switchingProtocols(raw: readonly string[]): string {
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (let i = 0; i + 1 < raw.length; i += 2) lines.push(`${raw[i]}: ${raw[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

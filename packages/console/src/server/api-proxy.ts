import { Agent } from 'node:https';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { statusErrors } from '@multiplane/apimachinery';
import { createProxyServer, type ProxyServer } from 'http-proxy-3';
import { tlsOptions, type ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';
import { sendError } from './send.ts';
import type { Session } from './session-store.ts';

export interface ApiProxyOptions {
  readonly maxInFlight: number;
  readonly maxInFlightPerSession: number;
  readonly maxBodyBytes: number;
}

/** What the API server gets of the headers of a browser; nothing else of them passes. */
const passedHeaders = [
  'accept',
  'accept-encoding',
  'accept-language',
  'content-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-none-match',
  'user-agent',
];
/** What the browser gets of the headers of a response; hop-by-hop headers and cookies are not among them. */
const returnedHeaders = new Set([
  'age',
  'audit-id',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-type',
  'etag',
  'last-modified',
  'retry-after',
  'vary',
  'warning',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
]);
/** Longer than the API server takes for any request that ends by itself. */
const responseTimeoutMs = 90_000;
const connectTimeoutMs = 5_000;
/** Less than the time after which the API server closes idle connections. */
const idleTimeoutMs = 30_000;

/**
 * Forwards requests to the API server over HTTP/1.1 with the credential of a session. The library copies streams; which headers
 * pass, when a request ends and what a failure becomes are decided here.
 */
export class ApiProxy {
  readonly #options: ApiProxyOptions;
  readonly #server: () => ApiServer;
  readonly #proxy: ProxyServer;
  readonly #agents = new Map<string, { readonly trust: string; readonly agent: Agent }>();
  #inFlight = 0;

  constructor(options: ApiProxyOptions, modules: { readonly server: () => ApiServer }) {
    this.#options = options;
    this.#server = modules.server;
    this.#proxy = createProxyServer({ changeOrigin: true, xfwd: false, connectTimeout: connectTimeoutMs });
    // The library ends it only where the response of HTTP/1.1 is cut: one of HTTP/2 counts as finished when its stream is reset.
    this.#proxy.on('proxyReq', (outgoing: ClientRequest, _request: IncomingMessage, response: ServerResponse) => {
      const end = (): void => {
        if (!response.writableEnded) outgoing.destroy();
      };
      if (response.closed || response.destroyed) end();
      else response.once('close', end);
    });
    this.#proxy.on('proxyRes', (incoming: IncomingMessage, _request: IncomingMessage, response: ServerResponse) => {
      for (const name of Object.keys(incoming.headers)) if (!returnedHeaders.has(name)) delete incoming.headers[name];
      // A copy stops at its end without a word; the browser must see that the response is cut.
      incoming.on('close', () => {
        if (!incoming.complete) cut(response);
      });
    });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Forwards a request to `path` of the API server. Resolves once the response is complete, failed or the browser left; what goes
   * wrong is answered here.
   */
  async forward(
    request: IncomingMessage,
    response: ServerResponse,
    target: { readonly session: Session; readonly credential: Credential; readonly path: string },
  ): Promise<void> {
    const { session, credential, path } = target;
    const { maxInFlight, maxInFlightPerSession, maxBodyBytes } = this.#options;
    if (this.#inFlight >= maxInFlight || session.inFlight >= maxInFlightPerSession)
      throw statusErrors.tooManyRequests('too many requests of the console are in flight', 1);
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes)
      throw statusErrors.tooLarge(`limit is ${maxBodyBytes}`);
    this.#inFlight++;
    session.inFlight++;
    const end = (): void => cut(response);
    session.signal.addEventListener('abort', end, { once: true });
    try {
      await this.#send(request, response, { session, credential, path });
    } finally {
      session.signal.removeEventListener('abort', end);
      session.inFlight--;
      this.#inFlight--;
    }
  }

  /** Ends idle connections. Requests in flight end with their sessions. */
  close(): void {
    for (const { agent } of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    {
      session,
      credential,
      path,
    }: { readonly session: Session; readonly credential: Credential; readonly path: string },
  ): Promise<void> {
    const server = this.#server();
    replaceHeaders(request, credential);
    limitBody(request, response, this.#options.maxBodyBytes);
    request.url = path;
    return new Promise((resolve) => {
      response.once('close', resolve);
      const onError = (cause: Error): void => {
        if (!response.headersSent) sendError(response, unavailable(cause));
        else cut(response);
      };
      this.#proxy.web(
        request,
        response,
        {
          target: server.url,
          agent: this.#agentOf(server, session, credential),
          ...(isWatch(path) ? {} : { proxyTimeout: responseTimeoutMs }),
        },
        onError,
      );
    });
  }

  /** One agent for all tokens; one per session with a certificate, whose connections carry its identity. */
  #agentOf(server: ApiServer, session: Session, credential: Credential): Agent {
    const key = credential.kind === 'token' ? '' : session.id;
    const trust = `${server.url} ${server.ca ?? ''}`;
    const known = this.#agents.get(key);
    if (known?.trust === trust) return known.agent;
    const agent = new Agent({
      ...tlsOptions(server),
      ...(credential.kind === 'certificate' ? { cert: credential.certificate, key: credential.privateKey } : {}),
      keepAlive: true,
      maxFreeSockets: 32,
      timeout: idleTimeoutMs,
    });
    this.#agents.set(key, { trust, agent });
    if (key !== '' && known === undefined)
      session.signal.addEventListener('abort', () => {
        this.#agents.get(key)?.agent.destroy();
        this.#agents.delete(key);
      });
    return agent;
  }
}

/** With an error, or a response of HTTP/2 would look complete. */
const cut = (response: ServerResponse): void => void response.destroy(new Error('the response was cut'));

function replaceHeaders(request: IncomingMessage, credential: Credential): void {
  const { headers } = request;
  const passed: Record<string, string | string[] | undefined> = {};
  for (const name of passedHeaders) if (headers[name] !== undefined) passed[name] = headers[name];
  if (credential.kind === 'token') passed['authorization'] = `Bearer ${credential.token}`;
  // Without its length a body is sent in chunks.
  if (passed['content-length'] === undefined && hasBody(request)) passed['transfer-encoding'] = 'chunked';
  Object.defineProperty(request, 'headers', { value: passed, configurable: true, writable: true });
}

const hasBody = ({ method }: IncomingMessage): boolean => method !== 'GET' && method !== 'HEAD';

/** Cuts a body without a length that grows too large. */
function limitBody(request: IncomingMessage, response: ServerResponse, maxBytes: number): void {
  if (!hasBody(request)) return;
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes) cut(response);
  });
}

const isWatch = (path: string): boolean =>
  /[?&]watch=(?:true|1|t|T|TRUE|True)(?:&|$)/.test(path) || path.includes('/watch/');

const unavailable = (cause: Error): Error =>
  Object.assign(statusErrors.serviceUnavailable('the API server does not answer', 1), { cause });

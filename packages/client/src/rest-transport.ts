import { traceHeaders } from '@multiplane/component-base';
import { Agent, request as httpsRequest } from 'node:https';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import {
  isJsonObject,
  parseJson,
  StatusError,
  type Json,
  type JsonObject,
  type StatusReason,
} from '@multiplane/apimachinery';
import type { ClientConfig } from './kubeconfig.ts';
import type { RestClientMetrics } from './rest-client-metrics.ts';

export interface RestRequest {
  readonly method: string;
  /** Absolute path on the server, `/clusters/<x>` included, with the query. */
  readonly path: string;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  /** `Prefer` header (RFC 7240). */
  readonly prefer?: string | undefined;
  readonly body?: string | Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A watch or another long-lived stream: does not count against `maxSockets`. */
  readonly longRunning?: boolean | undefined;
}

export interface RestTransportOptions {
  /** A function is called before every request, so that rotated certificates are used from the next one on. */
  readonly config: ClientConfig | (() => ClientConfig);
  readonly userAgent?: string;
  readonly maxSockets?: number;
  /** A request of {@link RestTransport.json} fails when the socket is idle for so long; unlimited by default. */
  readonly idleTimeoutMs?: number;
  /** Counts the requests. */
  readonly metrics?: RestClientMetrics | undefined;
}

/** Larger responses are an error; lists of that size need paging. */
const maxResponseBytes = 512 * 1024 * 1024;

/** HTTPS with keep-alive to one server. A response that is not a success is thrown as a StatusError. */
export class RestTransport {
  readonly #currentConfig: () => ClientConfig;
  readonly #userAgent: string;
  readonly #maxSockets: number;
  readonly #idleTimeoutMs: number | undefined;
  readonly #metrics: RestClientMetrics | undefined;
  #config: ClientConfig;
  #base: URL;
  #agent: Agent;
  #streams: Agent;
  #closed = false;
  constructor(options: RestTransportOptions) {
    const { config } = options;
    this.#currentConfig = typeof config === 'function' ? config : () => config;
    this.#userAgent = options.userAgent ?? 'multiplane';
    this.#maxSockets = options.maxSockets ?? 32;
    this.#idleTimeoutMs = options.idleTimeoutMs;
    this.#metrics = options.metrics;
    this.#config = this.#currentConfig();
    this.#base = new URL(this.#config.server);
    this.#agent = agentOf(this.#config, this.#maxSockets);
    this.#streams = agentOf(this.#config);
  }

  /** Origin of the server, without a path. */
  get origin(): string {
    return this.#base.origin;
  }

  /** The JSON of a successful response. */
  async json(request: RestRequest): Promise<Json> {
    const response = await this.#open(request, this.#idleTimeoutMs);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxResponseBytes)
        throw new Error(`the response to ${request.method} ${request.path} exceeds ${maxResponseBytes} bytes`);
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString();
    const code = response.statusCode ?? 0;
    if (code >= 200 && code < 300) return parseJson(text);
    throw statusErrorOfResponse(code, text);
  }

  /** The response once its headers arrived, of any status; the caller reads or destroys it. */
  open(request: RestRequest): Promise<IncomingMessage> {
    return this.#open(request, undefined);
  }

  #open(request: RestRequest, idleTimeoutMs: number | undefined): Promise<IncomingMessage> {
    this.#reloadConfig();
    return new Promise((resolve, reject) => {
      const secure = this.#base.protocol === 'https:';
      const outgoing = (secure ? httpsRequest : httpRequest)({
        host: this.#base.hostname.replace(/^\[|\]$/g, ''),
        port: this.#base.port === '' ? (secure ? 443 : 80) : this.#base.port,
        path: request.path,
        method: request.method,
        ...(idleTimeoutMs === undefined ? {} : { timeout: idleTimeoutMs }),
        ...(secure ? { agent: request.longRunning === true ? this.#streams : this.#agent } : {}),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
        headers: {
          accept: request.accept ?? 'application/json',
          'user-agent': this.#userAgent,
          ...currentTraceHeaders(),
          ...(request.prefer === undefined ? {} : { prefer: request.prefer }),
          ...(this.#config.token === undefined ? {} : { authorization: `Bearer ${this.#config.token}` }),
          ...(request.body === undefined
            ? {}
            : {
                'content-type': request.contentType ?? 'application/json',
                'content-length': Buffer.byteLength(request.body),
              }),
        },
      });
      const { host } = this.#base;
      let hasResponse = false;
      outgoing.once('response', (response) => {
        hasResponse = true;
        this.#metrics?.finished(request.method, host, response.statusCode);
        resolve(response);
      });
      outgoing.on('error', (error) => {
        if (!hasResponse && request.signal?.aborted !== true) this.#metrics?.finished(request.method, host, undefined);
        reject(error);
      });
      // Covers all stages of the request, because it is the idle time of the socket.
      outgoing.on('timeout', () => outgoing.destroy(new Error(`${this.origin}: no data for ${idleTimeoutMs} ms`)));
      outgoing.end(request.body);
    });
  }

  /** Closes all connections; requests in flight are aborted. */
  close(): void {
    this.#closed = true;
    this.#agent.destroy();
    this.#streams.destroy();
  }

  /**
   * Applies a changed configuration. Requests in flight finish on their connections, which are then closed instead of kept
   * alive, so that no new request uses the old certificates.
   */
  #reloadConfig(): void {
    const config = this.#currentConfig();
    if (config === this.#config || this.#closed) return;
    for (const agent of [this.#agent, this.#streams]) {
      agent.maxFreeSockets = 0;
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    }
    this.#config = config;
    this.#base = new URL(config.server);
    this.#agent = agentOf(config, this.#maxSockets);
    this.#streams = agentOf(config);
  }
}

/** The trace of the request on behalf of which this one is made. */
function currentTraceHeaders(): Record<string, string> | undefined {
  const [name, value, stateName, state] = traceHeaders();
  if (name === undefined || value === undefined) return undefined;
  return stateName === undefined || state === undefined ? { [name]: value } : { [name]: value, [stateName]: state };
}

function agentOf(config: ClientConfig, maxSockets = Number.POSITIVE_INFINITY): Agent {
  return new Agent({
    keepAlive: true,
    maxSockets,
    // As in Go, the CA bundle may be the serving certificate itself.
    ...(config.ca === undefined ? {} : { ca: config.ca, allowPartialTrustChain: true }),
    ...(config.certificate === undefined ? {} : { cert: config.certificate }),
    ...(config.key === undefined ? {} : { key: config.key }),
    ...(config.serverName === undefined ? {} : { servername: config.serverName }),
    ...(config.proxy === undefined ? {} : { proxyEnv: { HTTPS_PROXY: config.proxy } }),
    rejectUnauthorized: config.insecure !== true,
  });
}

/** The error of a response that is not a success; a body that is not a Status is its message. */
export function statusErrorOfResponse(code: number, text: string): StatusError {
  try {
    const status = parseJson(text);
    if (isJsonObject(status) && status['kind'] === 'Status') return statusErrorOf(status, code);
  } catch {
    // Not JSON.
  }
  return new StatusError({
    code,
    reason: '',
    message: text.trim() === '' ? `the server responded with status ${code}` : text.trim(),
  });
}

/** The error of a Status object; `code` is used when it has none. */
export function statusErrorOf(status: JsonObject, code = 500): StatusError {
  const { details } = status;
  return new StatusError({
    code: typeof status['code'] === 'number' ? status['code'] : code,
    reason: (typeof status['reason'] === 'string' ? status['reason'] : '') as StatusReason,
    message: typeof status['message'] === 'string' ? status['message'] : `the server responded with status ${code}`,
    details: isJsonObject(details) ? details : undefined,
  });
}

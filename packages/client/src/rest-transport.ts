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

export interface RestRequest {
  readonly method: string;
  /** Absolute path on the server, `/clusters/<x>` included, with the query. */
  readonly path: string;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  /** What the server may do rather than must (RFC 7240). */
  readonly prefer?: string | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A watch or another stream that stays open: it takes none of the connections that are counted. */
  readonly longRunning?: boolean | undefined;
}

export interface RestTransportOptions {
  /** A function is asked before every request, so that changed certificates are used from then on. */
  readonly config: ClientConfig | (() => ClientConfig);
  readonly userAgent?: string;
  readonly maxSockets?: number;
  /** An answer that is read whole fails when the server is silent for so long; it may take for ever unless given. */
  readonly silenceMs?: number;
}

/** Answers larger than this are refused: a list that big wants paging. */
const maxResponseBytes = 512 * 1024 * 1024;

/**
 * HTTPS to one server with keep-alive. Failures of the server are thrown as the StatusErrors they are; an answer that is
 * not one becomes a StatusError with its code and text.
 */
export class RestTransport {
  readonly #currentConfig: () => ClientConfig;
  readonly #userAgent: string;
  readonly #maxSockets: number;
  readonly #silenceMs: number | undefined;
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
    this.#silenceMs = options.silenceMs;
    this.#config = this.#currentConfig();
    this.#base = new URL(this.#config.server);
    this.#agent = agentOf(this.#config, this.#maxSockets);
    this.#streams = agentOf(this.#config);
  }

  /** Origin of the server, without a path. */
  get origin(): string {
    return this.#base.origin;
  }

  /** The JSON of a successful answer. */
  async json(request: RestRequest): Promise<Json> {
    const response = await this.#open(request, this.#silenceMs);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxResponseBytes)
        throw new Error(`the answer to ${request.method} ${request.path} exceeds ${maxResponseBytes} bytes`);
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString();
    const code = response.statusCode ?? 0;
    if (code >= 200 && code < 300) return parseJson(text);
    throw failureOf(code, text);
  }

  /** The answer as it begins, whatever its status; the caller reads or destroys it. */
  open(request: RestRequest): Promise<IncomingMessage> {
    return this.#open(request, undefined);
  }

  #open(request: RestRequest, silenceMs: number | undefined): Promise<IncomingMessage> {
    this.#renew();
    return new Promise((resolve, reject) => {
      const secure = this.#base.protocol === 'https:';
      const outgoing = (secure ? httpsRequest : httpRequest)(
        {
          host: this.#base.hostname.replace(/^\[|\]$/g, ''),
          port: this.#base.port === '' ? (secure ? 443 : 80) : this.#base.port,
          path: request.path,
          method: request.method,
          ...(silenceMs === undefined ? {} : { timeout: silenceMs }),
          ...(secure ? { agent: request.longRunning === true ? this.#streams : this.#agent } : {}),
          ...(request.signal === undefined ? {} : { signal: request.signal }),
          headers: {
            accept: request.accept ?? 'application/json',
            'user-agent': this.#userAgent,
            ...(request.prefer === undefined ? {} : { prefer: request.prefer }),
            ...(this.#config.token === undefined ? {} : { authorization: `Bearer ${this.#config.token}` }),
            ...(request.body === undefined
              ? {}
              : {
                  'content-type': request.contentType ?? 'application/json',
                  'content-length': Buffer.byteLength(request.body),
                }),
          },
        },
        resolve,
      );
      outgoing.on('error', reject);
      // Idle time of the socket, whatever stage the request is at.
      outgoing.on('timeout', () => outgoing.destroy(new Error(`${this.origin} is silent for ${silenceMs} ms`)));
      outgoing.end(request.body);
    });
  }

  /** Closes idle connections; requests under way are cut off. */
  close(): void {
    this.#closed = true;
    this.#agent.destroy();
    this.#streams.destroy();
  }

  /**
   * Takes over changed settings. A request under way ends on the connection it has, which is then closed instead of
   * kept: nothing that begins from now on uses the old certificates.
   */
  #renew(): void {
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

function agentOf(config: ClientConfig, maxSockets = Number.POSITIVE_INFINITY): Agent {
  return new Agent({
    keepAlive: true,
    maxSockets,
    ...(config.ca === undefined ? {} : { ca: config.ca }),
    ...(config.certificate === undefined ? {} : { cert: config.certificate }),
    ...(config.key === undefined ? {} : { key: config.key }),
    ...(config.serverName === undefined ? {} : { servername: config.serverName }),
    ...(config.proxy === undefined ? {} : { proxyEnv: { HTTPS_PROXY: config.proxy } }),
    rejectUnauthorized: config.insecure !== true,
  });
}

/** The error behind an answer that is not a success. */
export function failureOf(code: number, text: string): StatusError {
  try {
    const status = parseJson(text);
    if (isJsonObject(status) && status['kind'] === 'Status') return statusErrorOf(status, code);
  } catch {
    // Not JSON: the text itself is the message.
  }
  return new StatusError({
    code,
    reason: '',
    message: text.trim() === '' ? `the server answered ${code}` : text.trim(),
  });
}

/** The error that a Status object tells of; `code` stands in for one that names none. */
export function statusErrorOf(status: JsonObject, code = 500): StatusError {
  const { details } = status;
  return new StatusError({
    code: typeof status['code'] === 'number' ? status['code'] : code,
    reason: (typeof status['reason'] === 'string' ? status['reason'] : '') as StatusReason,
    message: typeof status['message'] === 'string' ? status['message'] : `the server answered ${code}`,
    details: isJsonObject(details) ? details : undefined,
  });
}

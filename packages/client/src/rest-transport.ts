import { Agent, request as httpsRequest } from 'node:https';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import {
  isJsonObject,
  parseJson,
  StatusError,
  type Json,
  type StatusDetails,
  type StatusReason,
} from '@multiplane/apimachinery';
import type { ClientConfig } from './kubeconfig.ts';

export interface RestRequest {
  readonly method: string;
  /** Absolute path on the server, `/clusters/<x>` included, with the query. */
  readonly path: string;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Answers larger than this are refused: a list that big wants paging. */
const maxResponseBytes = 512 * 1024 * 1024;

/**
 * HTTPS to one server with keep-alive. Failures of the server are thrown as the StatusErrors they are; an answer that is
 * not one becomes a StatusError with its code and text.
 */
export class RestTransport {
  readonly #base: URL;
  readonly #config: ClientConfig;
  readonly #agent: Agent;
  readonly #userAgent: string;
  constructor(options: { readonly config: ClientConfig; readonly userAgent?: string; readonly maxSockets?: number }) {
    this.#config = options.config;
    this.#base = new URL(options.config.server);
    this.#userAgent = options.userAgent ?? 'multiplane';
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: options.maxSockets ?? 32,
      ...(options.config.ca === undefined ? {} : { ca: options.config.ca }),
      ...(options.config.certificate === undefined ? {} : { cert: options.config.certificate }),
      ...(options.config.key === undefined ? {} : { key: options.config.key }),
      ...(options.config.serverName === undefined ? {} : { servername: options.config.serverName }),
      rejectUnauthorized: options.config.insecure !== true,
    });
  }

  /** Origin of the server, without a path. */
  get origin(): string {
    return this.#base.origin;
  }

  /** The JSON of a successful answer. */
  async json(request: RestRequest): Promise<Json> {
    const response = await this.open(request);
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
    return new Promise((resolve, reject) => {
      const secure = this.#base.protocol === 'https:';
      const outgoing = (secure ? httpsRequest : httpRequest)(
        {
          host: this.#base.hostname.replace(/^\[|\]$/g, ''),
          port: this.#base.port === '' ? (secure ? 443 : 80) : this.#base.port,
          path: request.path,
          method: request.method,
          ...(secure ? { agent: this.#agent } : {}),
          ...(request.signal === undefined ? {} : { signal: request.signal }),
          headers: {
            accept: request.accept ?? 'application/json',
            'user-agent': this.#userAgent,
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
      outgoing.end(request.body);
    });
  }

  /** Closes idle connections; requests under way are cut off. */
  close(): void {
    this.#agent.destroy();
  }
}

/** The error behind an answer that is not a success. */
export function failureOf(code: number, text: string): StatusError {
  try {
    const status = parseJson(text);
    if (isJsonObject(status) && status['kind'] === 'Status') {
      return new StatusError({
        code: typeof status['code'] === 'number' ? status['code'] : code,
        reason: (typeof status['reason'] === 'string' ? status['reason'] : '') as StatusReason,
        message: typeof status['message'] === 'string' ? status['message'] : text,
        details: isJsonObject(status['details'] ?? null) ? (status['details'] as unknown as StatusDetails) : undefined,
      });
    }
  } catch {
    // Not JSON: the text itself is the message.
  }
  return new StatusError({
    code,
    reason: '',
    message: text.trim() === '' ? `the server answered ${code}` : text.trim(),
  });
}

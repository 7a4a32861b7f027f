import { Agent, request as httpsRequest } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { encodeJson, readProtobufEnvelope, type JsonObject } from '../../packages/apimachinery/src/index.ts';
import { decodeProtobufObject, encodeProtobufObject } from '../../packages/apis/src/index.ts';
import { put, type Value } from './json-pointer.ts';
import type { Step } from './scenario.ts';

export interface ScenarioTarget {
  /** `https://host:port`. */
  readonly server: string;
  /** Put before every path that does not begin with `//`. */
  readonly prefix: string;
  /** Where paths that begin with `//` go, which are about a server and not about a workspace; default: `server`. */
  readonly shard?: string | undefined;
  /** Bearer tokens by the name a step uses. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly ca: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** A watch under way: events as they come. */
export interface OpenWatch {
  readonly events: Record<string, Value>[];
  readonly status: number;
  ended: boolean;
  /** It ended in the middle, by an error of the connection. */
  failed: boolean;
  close(): void;
}

/** Sends the steps of scenarios to a server. */
export class ScenarioTransport {
  readonly #target: ScenarioTarget;
  readonly #url: URL;
  readonly #shardUrl: URL;
  readonly #agent: Agent;
  constructor(target: ScenarioTarget) {
    this.#target = target;
    this.#url = new URL(target.server);
    this.#shardUrl = new URL(target.shard ?? target.server);
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, ca: target.ca });
  }

  get host(): string {
    return this.#url.host;
  }

  async send(step: Step): Promise<Answer> {
    const { response } = await this.#open(step);
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: textOf(Buffer.concat(chunks), response.headers['content-type']),
    };
  }

  async watch(step: Step): Promise<OpenWatch> {
    const { response, request } = await this.#open({ ...step, method: 'GET' });
    const state: OpenWatch = {
      events: [],
      status: response.statusCode ?? 0,
      ended: false,
      failed: false,
      close: () => request.destroy(),
    };
    /** Of a line that has not ended; joined once, because a line may have megabytes. */
    let parts: string[] = [];
    const take = (line: string): void => {
      const event = parse(line);
      if (event !== undefined) state.events.push(event as Record<string, Value>);
    };
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      let start = 0;
      for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
        take(parts.join('') + chunk.slice(start, end));
        parts = [];
        start = end + 1;
      }
      if (start < chunk.length) parts.push(chunk.slice(start));
    });
    response.on('end', () => {
      take(parts.join(''));
      state.ended = true;
    });
    response.on('error', () => {
      state.ended = true;
      state.failed = true;
    });
    return state;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Once more on a new connection: the server may have closed those that were kept while they were idle. */
  async #open(step: Step): Promise<{ response: IncomingMessage; request: ClientRequest }> {
    try {
      return await this.#request(step);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return this.#request(step, false);
    }
  }

  #request(
    step: Step,
    agent: Agent | false = this.#agent,
  ): Promise<{ response: IncomingMessage; request: ClientRequest }> {
    const payload = payloadOf(step);
    const headers: Record<string, string | readonly string[] | number> = {
      accept: 'application/json',
      ...step.headers,
    };
    if (payload !== undefined) {
      headers['content-type'] ??= 'application/json';
      headers['content-length'] = Buffer.byteLength(payload);
    }
    const who = step.as ?? 'admin';
    if (who !== 'anonymous') headers['authorization'] ??= `Bearer ${this.#target.tokens[who] ?? who}`;
    const [url, path] = step.path.startsWith('//')
      ? [this.#shardUrl, step.path.slice(1)]
      : [this.#url, `${this.#target.prefix}${step.path}`];
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        {
          host: url.hostname,
          port: url.port,
          method: step.method ?? 'GET',
          path,
          headers: headers as Record<string, string>,
          agent,
          ca: this.#target.ca,
        },
        (response) => resolve({ response, request }),
      );
      request.on('error', (error: NodeJS.ErrnoException) => {
        reject(request.reusedSocket && error.code === 'ECONNRESET' ? new StaleConnectionError(error) : error);
      });
      request.end(payload);
    });
  }
}

class StaleConnectionError extends Error {
  constructor(cause: unknown) {
    super('an idle connection had been closed', { cause });
  }
}

const protobufType = 'application/vnd.kubernetes.protobuf';

function payloadOf(step: Step): string | Buffer | undefined {
  const { bodyText, body, protobuf } = step;
  if (bodyText !== undefined || body === undefined) return bodyText;
  if (protobuf === undefined) return JSON.stringify(bodyOf(step));
  const bytes = encodeProtobufObject(body as JsonObject);
  return protobuf === true ? bytes : bytes.subarray(0, protobuf);
}

/** Objects in protobuf as JSON. */
function textOf(bytes: Buffer, contentType: string | undefined): string {
  if (contentType !== protobufType) return bytes.toString('utf8');
  try {
    return encodeJson(decodeProtobufObject(bytes));
  } catch {
    // A kind without a message, such as a list: that it is one is all that can be compared.
    const { kind, apiVersion } = readProtobufEnvelope(bytes);
    return encodeJson({ kind, apiVersion });
  }
}

/** JSON, or undefined for anything else. */
export function parse(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

function bodyOf({ body, pad = {}, repeat }: Step): Value {
  const copy = structuredClone(body);
  for (const [pointer, length] of Object.entries(pad)) put(copy, pointer, 'x'.repeat(length));
  return repeat === undefined ? copy : Array.from({ length: repeat }, () => (copy as Value[])[0]);
}

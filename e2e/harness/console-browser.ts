import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as a form. */
  readonly body?: object | string;
  /** Without the headers by which a browser tells that the console itself caused the request. */
  readonly bare?: true;
}

/** Requests to a console as a browser sends them: with the cookies of their path, the origin and the CSRF token of the session. */
export class ConsoleBrowser implements Disposable {
  readonly origin: string;
  readonly #agent: Agent;
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();
  csrfToken: string | undefined;

  constructor({ url, ca }: { readonly url: string; readonly ca: string }) {
    this.origin = new URL(url).origin;
    this.#agent = new Agent({ ca, keepAlive: true });
  }

  get cookies(): string {
    return [...this.#cookies].map(([name, { value }]) => `${name}=${value}`).join('; ');
  }

  /** `path` below `/console`. */
  async send(path: string, asked: Asked = {}): Promise<ConsoleAnswer> {
    const { method = asked.body === undefined ? 'GET' : 'POST', headers = {}, body, bare } = asked;
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const url = new URL(path.startsWith('https:') ? path : `/console${path}`, this.origin);
    const cookies = [...this.#cookies].filter(([, cookie]) => url.pathname.startsWith(cookie.path));
    const outgoing = request(url, {
      agent: this.#agent,
      method,
      headers: {
        ...(bare === true ? {} : { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }),
        ...(bare === true || method === 'GET' ? {} : { origin: this.origin }),
        ...(bare === true || this.csrfToken === undefined ? {} : { 'x-csrf-token': this.csrfToken }),
        ...(cookies.length === 0 ? {} : { cookie: cookies.map(([name, { value }]) => `${name}=${value}`).join('; ') }),
        ...(text === undefined
          ? {}
          : {
              'content-type': typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json',
              'content-length': String(Buffer.byteLength(text)),
            }),
        ...headers,
      },
    });
    outgoing.end(text);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    for (const cookie of response.headers['set-cookie'] ?? []) this.#keep(cookie);
    const received = Buffer.concat(chunks).toString();
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: received,
      json: jsonOf(received),
    };
  }

  /** Logs in with a token; the answer is the session. */
  async logIn(token: string): Promise<ConsoleAnswer> {
    const answer = await this.send('/login/token', { body: { token } });
    await this.readSession();
    return answer;
  }

  /** The session, whose CSRF token is used from now on. */
  async readSession(): Promise<ConsoleAnswer> {
    const answer = await this.send('/session');
    this.csrfToken = typeof answer.json['csrfToken'] === 'string' ? answer.json['csrfToken'] : undefined;
    return answer;
  }

  #keep(text: string): void {
    const [pair = '', ...attributes] = text.split('; ');
    const at = pair.indexOf('=');
    const name = pair.slice(0, at);
    const path = attributes.find((attribute) => attribute.startsWith('Path='))?.slice(5) ?? '/';
    if (attributes.includes('Max-Age=0')) this.#cookies.delete(name);
    else this.#cookies.set(name, { value: pair.slice(at + 1), path });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function jsonOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { statusErrors } from '@multiplane/apimachinery';
import { connectionHeader } from '@multiplane/component-base';
import type { Exchange, Headers } from './exchange.ts';

/** A request that a server sends on its own behalf through code that serves exchanges. */
export interface BufferedRequest {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: Buffer | string | undefined;
}

/** The complete response to a {@link BufferedRequest}. */
export interface BufferedResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string | readonly string[]>;
  readonly body: Buffer;
}

/** A larger response is aborted; single objects are smaller. */
const maxResponseBytes = 16 * 1024 * 1024;

/** The part of another exchange that a {@link BufferedExchange} shares. */
export interface BufferedExchangeParent {
  readonly signal: AbortSignal;
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers?: Headers | undefined;
}

/**
 * An exchange that collects its response in memory. It shares the abort signal, the remote address and the name of the
 * connection of its parent, but not the connection itself, so that the receiver never authenticates the parent's client by it.
 */
export class BufferedExchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion = '1.1' as const;
  readonly buffered = 0;
  status = 0;
  readonly #parent: BufferedExchangeParent;
  readonly #requestBody: Buffer;
  readonly #responseHeaders = new Map<string, string | readonly string[]>();
  readonly #chunks: Buffer[] = [];
  readonly #done = Promise.withResolvers<void>();
  #size = 0;

  constructor(parent: BufferedExchangeParent, url: string, request: BufferedRequest) {
    this.#parent = parent;
    this.method = request.method;
    this.url = url;
    this.#requestBody = Buffer.from(request.body ?? '');
    const headers = Object.create(null) as Record<string, Headers[string]>;
    for (const [name, value] of Object.entries(request.headers ?? {})) headers[name] = value;
    const connection = parent.headers?.[connectionHeader];
    if (connection !== undefined) headers[connectionHeader] = connection;
    if (this.#requestBody.length > 0) headers['content-length'] = String(this.#requestBody.length);
    this.headers = headers;
    this.#done.promise.catch(() => {});
  }

  /** Resolves with the complete response; rejects when it was cut off or exceeds the size limit. */
  async response(): Promise<BufferedResponse> {
    await this.#done.promise;
    return { status: this.status, headers: this.#responseHeaders, body: Buffer.concat(this.#chunks) };
  }

  get socket(): TLSSocket {
    const { remoteAddress } = this.#parent.socket;
    return { destroyed: true, remoteAddress } as TLSSocket;
  }
  get signal(): AbortSignal {
    return this.#parent.signal;
  }
  get headersSent(): boolean {
    return this.status !== 0;
  }
  async readBody(limit: number): Promise<Buffer> {
    if (this.#requestBody.length > limit) throw statusErrors.tooLarge(`limit is ${limit}`);
    return this.#requestBody;
  }
  bodyStream(): Readable | undefined {
    return this.#requestBody.length === 0 ? undefined : Readable.from([this.#requestBody]);
  }
  setHeader(name: string, value: string | readonly string[]): void {
    if (this.status === 0) this.#responseHeaders.set(name.toLowerCase(), value);
  }
  respond(status: number, body: Buffer | string): void {
    if (this.status !== 0) return;
    this.start(status);
    this.write(Buffer.from(body));
    this.end();
  }
  start(status: number): void {
    if (this.status === 0) this.status = status;
  }
  write(chunk: Buffer, done?: () => void): boolean {
    this.#size += chunk.length;
    // A copy, because the writer may reuse the buffer.
    if (this.#size <= maxResponseBytes) this.#chunks.push(Buffer.from(chunk));
    else this.destroy();
    done?.();
    return true;
  }
  drained(): Promise<void> {
    return Promise.resolve();
  }
  end(): void {
    this.#done.resolve();
  }
  destroy(): void {
    this.#done.reject(new Error(`response to ${this.method} ${this.url} was cut off`));
  }
}

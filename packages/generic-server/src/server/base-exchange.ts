import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { statusErrors } from '@multiplane/apimachinery';
import type { Exchange, Headers, NodeMessages, UpgradedConnection } from './exchange.ts';
import type { OutboundBufferLimiter, PendingBytes, PendingResponse } from './outbound-buffer-limiter.ts';
import type { BodyProgress, PendingBody, RequestBodyLimiter } from './request-body-limiter.ts';

/** Multiple of the limit that is read from an oversized body, so that the client reads the response instead of a reset. */
const discardFactor = 4;
/** How long an oversized body is read. */
const discardMilliseconds = 5_000;

/** Larger complete responses are written to the socket in slices of this size. */
const sliceBytes = 128 * 1024;
/** Smaller complete responses are not accounted: a socket buffers as much anyway. */
const minAccountedBytes = 16 * 1024;

const noBytes = Buffer.alloc(0);

/** Abort reason of {@link Exchange.signal} after the client closed the connection or stream. */
export class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
  constructor() {
    super('the client closed the request');
  }
}
/** Shared: the stack of a disconnect carries no information, and capturing it is expensive. */
const clientDisconnected = new ClientDisconnectedError();

/** A callback for Node's `write`. After a failed write it is unknown whether the memory is still in use, so `done` is not called. */
export function unlessFailed(done: () => void): (error?: Error | null) => void {
  return (error) => {
    if (error === undefined || error === null) done();
  };
}

/** The limits over all exchanges of a server. */
export interface ExchangeLimits {
  readonly unread: OutboundBufferLimiter;
  readonly bodies: RequestBodyLimiter;
}

/**
 * The part of an exchange that both protocols share. A response starts once (`respond` or `start`) and ends once; calls
 * after the end are ignored, so that the deadline and a late handler may race.
 */
export abstract class BaseExchange implements Exchange, PendingResponse, PendingBody {
  abstract readonly method: string;
  abstract readonly url: string;
  abstract readonly headers: Headers;
  abstract readonly httpVersion: '1.1' | '2.0';
  abstract readonly socket: TLSSocket;

  /** Status of the response, 0 before it starts. */
  status = 0;
  pending: PendingBytes | undefined = undefined;
  progress: BodyProgress | undefined = undefined;
  /** The user to whose limits this exchange counts; empty before authentication. */
  owner = '';
  /** Bytes of the body that were written so far. */
  bytesSent = 0;
  /** True once the handler completed or aborted the response. */
  ended = false;
  /** The client sends its body after `100 Continue`, which it did not get yet. */
  awaitsContinue = false;

  /** Alternating names and values: both protocols accept such a list without conversion. */
  protected readonly responseHeaders: string[] = [];
  #controller: AbortController | undefined;
  #isClosed = false;
  #wakers: (() => void)[] = [];
  readonly #limiter: OutboundBufferLimiter | undefined;
  readonly #bodies: RequestBodyLimiter | undefined;
  /** Ends {@link readBody} with an error. */
  #refuse: ((reason: Error) => void) | undefined;

  /** `limits`: of the server; absent: no limits. */
  constructor(limits?: ExchangeLimits) {
    this.#limiter = limits?.unread;
    this.#bodies = limits?.bodies;
  }

  chargeTo(owner: string): void {
    this.owner = owner;
  }

  get headersSent(): boolean {
    return this.status !== 0;
  }

  setHeader(name: string, value: string | readonly string[]): void {
    if (this.status !== 0) return;
    const { responseHeaders: headers } = this;
    const key = name.toLowerCase();
    for (let i = headers.length - 2; i >= 0; i -= 2) if (headers[i] === key) headers.splice(i, 2);
    if (typeof value === 'string') headers.push(key, value);
    else for (const one of value) headers.push(key, one);
  }

  respond(status: number, text: Buffer | string): void {
    if (this.ended || this.status !== 0) return;
    // Node encodes headers together with a text that follows, as UTF-8; warnings are bytes already.
    const body = typeof text === 'string' ? Buffer.from(text) : text;
    const { length } = body;
    // The headers of a 304 describe the response that a 200 would have been, so it has no length (RFC 9110 §15.4.5).
    if (status !== 304 && status !== 204) this.setHeader('content-length', String(length));
    this.refuseAwaitedBody();
    this.status = status;
    this.ended = true;
    this.abandonBody();
    if (this.#isClosed) return;
    const bodyless = this.method === 'HEAD' || length === 0 || status === 304 || status === 204;
    if (!bodyless) this.bytesSent += length;
    if (bodyless || length <= sliceBytes) {
      try {
        this.sendWhole(status, bodyless ? undefined : body);
      } catch (error) {
        this.failed(error);
      }
      if (!bodyless && length > minAccountedBytes) this.#limiter?.add(this, length);
      return;
    }
    try {
      this.sendHeaders(status);
    } catch (error) {
      this.failed(error);
    }
    this.#limiter?.add(this, length);
    void this.#sendInSlices(body);
  }

  /** Writes slices as the client accepts them: encrypting megabytes in one call would block the event loop. */
  async #sendInSlices(body: Buffer): Promise<void> {
    for (let at = 0; at < body.length; at += sliceBytes) {
      if (this.#isClosed) return;
      if (this.sendChunk(body.subarray(at, at + sliceBytes))) continue;
      await new Promise<void>((resolve) => this.#wakers.push(resolve));
      if (!this.#isClosed) this.#limiter?.accepted(this, body.length - at - sliceBytes);
    }
    if (!this.#isClosed) this.sendEnd();
  }

  start(status: number): void {
    if (this.ended || this.status !== 0) return;
    this.refuseAwaitedBody();
    this.status = status;
    if (this.#isClosed) return;
    try {
      this.sendHeaders(status);
    } catch (error) {
      this.failed(error);
    }
  }

  write(chunk: Buffer, done?: () => void): boolean {
    if (this.ended || this.#isClosed || this.status === 0) return true;
    if (this.method === 'HEAD') return true;
    this.bytesSent += chunk.length;
    return this.sendChunk(chunk, done);
  }

  drained(): Promise<void> {
    if (this.#isClosed || this.ended || !this.needsDrain) return Promise.resolve();
    const limiter = this.#limiter;
    if (this.pending === undefined) limiter?.add(this, this.buffered);
    return new Promise((resolve) => {
      this.#wakers.push(() => {
        limiter?.release(this);
        resolve();
      });
    });
  }

  end(trailers: readonly string[] = []): void {
    if (this.ended) return;
    this.ended = true;
    if (!this.#isClosed && this.status !== 0) this.sendEnd(trailers);
  }

  /** Has no effect after a complete response: a late failure must not retract what the client is about to receive. */
  destroy(): void {
    if (this.ended) return;
    this.ended = true;
    this.abort(clientDisconnected);
    this.cut();
  }

  /** Called by the limiter for a client that does not read its response. */
  terminate(): void {
    this.cut();
  }

  /** True once the connection or stream is closed, whether or not the response was complete. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isClosed) this.#controller.abort(clientDisconnected);
    }
    return this.#controller.signal;
  }

  readBody(limit: number): Promise<Buffer> {
    const announced = Number(this.headers['content-length'] ?? 0);
    if (announced > limit * discardFactor) {
      this.refuseBody();
      return Promise.reject(statusErrors.tooLarge(`limit is ${limit}`));
    }
    this.askForBody();
    const source = this.bodySource();
    if (source === undefined) return Promise.resolve(noBytes);
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      let timer: NodeJS.Timeout | undefined;
      const finish = (error: unknown): void => {
        if (timer !== undefined) clearTimeout(timer);
        this.#bodies?.end(this);
        this.#refuse = undefined;
        this.onClosed = undefined;
        // A body that was read to its end emits nothing more.
        if (!source.readableEnded) {
          source.removeAllListeners('data');
          source.removeAllListeners('end');
        }
        if (error !== undefined) reject(error instanceof Error ? error : clientDisconnected);
        else if (length > limit) reject(statusErrors.tooLarge(`limit is ${limit}`));
        else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
      };
      const refuse = (): void => {
        this.refuseBody();
        finish(undefined);
      };
      this.onClosed = (): void => finish(clientDisconnected);
      this.#refuse = (reason): void => {
        this.refuseBody();
        finish(reason);
      };
      this.#bodies?.start(this);
      source.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= limit) {
          chunks.push(chunk);
          this.#bodies?.received(this, chunk.length);
          return;
        }
        chunks.length = 0;
        timer ??= setTimeout(refuse, discardMilliseconds);
        if (length > limit * discardFactor) refuse();
      });
      source.on('end', () => finish(undefined));
      source.resume();
      if (this.#isClosed) finish(clientDisconnected);
    });
  }

  /** Called by the limiter of bodies. */
  refuseSlowBody(reason: Error): void {
    this.#refuse?.(reason);
  }

  upgradeToWebSocket?(): void;
  takeConnection?(): UpgradedConnection;
  bodyStream(): Readable | undefined {
    this.askForBody();
    return this.bodySource();
  }
  abstract readonly buffered: number;
  abstract handOver(): NodeMessages;

  /** Called by the protocol when nothing more can be sent. `complete`: the whole response was sent. */
  protected closed(complete: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#limiter?.release(this);
    this.wake();
    this.onClosed?.();
    // HTTP/2 streams report that they finished even if the client aborted, so completion is tracked here.
    if (!complete) this.abort(clientDisconnected);
  }

  /** Node rejects invalid headers before it sends anything: the client must not wait for a response. */
  private failed(error: unknown): never {
    this.ended = true;
    this.cut();
    throw error;
  }

  /** The response was sent before the body was read, for example by the deadline: ends a pending {@link readBody}. */
  private abandonBody(): void {
    if (this.onClosed === undefined) return;
    this.refuseBody();
    this.onClosed();
  }

  /** After a final response the client may send its body or not, so what follows cannot be told from it. */
  private refuseAwaitedBody(): void {
    if (this.awaitsContinue) this.refuseBody();
  }

  /** The protocol's buffer has drained. */
  protected wake(): void {
    if (this.#wakers.length === 0) return;
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }

  /** The response headers by name. */
  protected responseHeaderMap(): Map<string, string | string[]> {
    const headers = new Map<string, string | string[]>();
    for (let i = 0; i < this.responseHeaders.length; i += 2) {
      const [name, value] = [this.responseHeaders[i] as string, this.responseHeaders[i + 1] as string];
      const known = headers.get(name);
      headers.set(name, known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]);
    }
    return headers;
  }

  /**
   * Sends `100 Continue` to a client that waits for it, before its body is read for the first time: a request that is refused by
   * its head, as without a valid token, gets its final response alone (RFC 9110 §10.1.1).
   */
  protected askForBody(): void {
    if (!this.awaitsContinue || this.status !== 0 || this.#isClosed) return;
    this.awaitsContinue = false;
    this.sendContinue();
  }

  protected onClosed: (() => void) | undefined;

  /** True while the buffer is full, as {@link sendChunk} reported. */
  protected abstract readonly needsDrain: boolean;
  protected abstract sendContinue(): void;
  protected abstract sendWhole(status: number, body: Buffer | string | undefined): void;
  protected abstract sendHeaders(status: number): void;
  protected abstract sendChunk(chunk: Buffer, done?: () => void): boolean;
  protected abstract sendEnd(trailers?: readonly string[]): void;
  protected abstract cut(): void;
  /** The unread body; undefined if there is none. */
  protected abstract bodySource(): Readable | undefined;
  /** The rest of the body is not going to be read: the connection or stream must not wait for it. */
  protected abstract refuseBody(): void;

  private abort(reason: Error): void {
    this.#controller?.abort(reason);
  }
}

/**
 * Creates objects without a prototype, so that a header may have any name (`__proto__`, `constructor`), but with the memory
 * layout of a class: `Object.create(null)` creates hash tables, which dominate the cost of reading headers.
 */
const HeaderBag = function HeaderBag() {} as unknown as new () => Record<string, string | string[] | undefined>;
Object.defineProperty(HeaderBag, 'prototype', { value: Object.create(null) as object });

/** Headers by lower-case name, from Node's list of alternating names and values. Repeated headers become lists. */
export function headersFromRaw(raw: readonly string[]): Record<string, string | string[] | undefined> {
  const headers = new HeaderBag();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const rawName = raw[i] as string;
    // HTTP/2 pseudo-headers begin with a colon.
    if (rawName.charCodeAt(0) === 0x3a) continue;
    const name = rawName.toLowerCase();
    const value = raw[i + 1] as string;
    const previous = headers[name];
    if (previous === undefined) headers[name] = value;
    else if (typeof previous === 'string') headers[name] = [previous, value];
    else previous.push(value);
  }
  return headers;
}

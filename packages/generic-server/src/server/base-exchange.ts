import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { statusErrors } from '@multiplane/apimachinery';
import type { Exchange, Headers, NodeMessages, UpgradedConnection } from '../exchange.ts';
import type { Unread, UnreadAnswer, UnreadBytes } from '../unread-bytes.ts';

/** Bytes of a refused body that are still taken in, so that the client gets to read its answer instead of a reset. */
const discardFactor = 4;
/** How long a refused body is taken in. */
const discardMilliseconds = 5_000;

/** Complete answers beyond this are handed to the socket in slices of this size. */
const sliceBytes = 128 * 1024;
/** Complete answers beyond this count as unread until the client took them: a socket holds as much anyway. */
const countedBytes = 16 * 1024;

const noBytes = Buffer.alloc(0);

/** The signal of {@link Exchange} aborts with this when the connection or stream went away. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
  constructor() {
    super('the client closed the request');
  }
}
/** Where in this program somebody else went tells nobody anything: one for all spares each its stack. */
const clientGone = new ClientGoneError();

/** A callback for node's write: after a failure it is unknown whether the memory is still in use. */
export function unlessFailed(done: () => void): (error?: Error | null) => void {
  return (error) => {
    if (error === undefined || error === null) done();
  };
}

/**
 * What both protocols share. An answer has one beginning (`respond` or `start`) and one end; whatever comes after the
 * end is ignored, so that the deadline and a late handler can race without either looking at the other.
 */
export abstract class BaseExchange implements Exchange, UnreadAnswer {
  abstract readonly method: string;
  abstract readonly url: string;
  abstract readonly headers: Headers;
  abstract readonly httpVersion: '1.1' | '2.0';
  abstract readonly socket: TLSSocket;

  /** Status of the answer, 0 before it begins. */
  status = 0;
  unread: Unread | undefined = undefined;
  /** Bytes of the body handed over so far. */
  bytesSent = 0;
  /** True once the answer is complete (as far as the handler is concerned) or was cut off. */
  ended = false;

  /** Names and values of the answer's headers in turn: both protocols take such a list as it is. */
  protected readonly answer: string[] = [];
  #controller: AbortController | undefined;
  #gone = false;
  #wakers: (() => void)[] = [];
  readonly #allUnread: UnreadBytes | undefined;

  /** `allUnread`: of all complete answers of a server; absent: nobody counts them. */
  constructor(allUnread?: UnreadBytes) {
    this.#allUnread = allUnread;
  }

  get headersSent(): boolean {
    return this.status !== 0;
  }

  setHeader(name: string, value: string | readonly string[]): void {
    if (this.status !== 0) return;
    const { answer } = this;
    const key = name.toLowerCase();
    for (let i = answer.length - 2; i >= 0; i -= 2) if (answer[i] === key) answer.splice(i, 2);
    if (typeof value === 'string') answer.push(key, value);
    else for (const one of value) answer.push(key, one);
  }

  respond(status: number, body: Buffer | string): void {
    if (this.ended || this.status !== 0) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    // A 304 describes the answer that a 200 would have been: it has no length of its own (RFC 9110 §15.4.5).
    if (status !== 304 && status !== 204) this.setHeader('content-length', String(length));
    this.status = status;
    this.ended = true;
    this.abandonBody();
    if (this.#gone) return;
    const bodyless = this.method === 'HEAD' || length === 0 || status === 304 || status === 204;
    if (!bodyless) this.bytesSent += length;
    if (bodyless || length <= sliceBytes) {
      try {
        this.sendWhole(status, bodyless ? undefined : body);
      } catch (error) {
        this.failed(error);
      }
      if (!bodyless && length > countedBytes) this.#allUnread?.hold(this, length);
      return;
    }
    try {
      this.sendHeaders(status);
    } catch (error) {
      this.failed(error);
    }
    this.#allUnread?.hold(this, length);
    void this.#sendInSlices(typeof body === 'string' ? Buffer.from(body) : body);
  }

  /** As fast as the client takes it, and never more at once: encrypting megabytes in one go holds the event loop. */
  async #sendInSlices(body: Buffer): Promise<void> {
    for (let at = 0; at < body.length; at += sliceBytes) {
      if (this.#gone) return;
      if (this.sendChunk(body.subarray(at, at + sliceBytes))) continue;
      await new Promise<void>((resolve) => this.#wakers.push(resolve));
      if (!this.#gone) this.#allUnread?.took(this, body.length - at - sliceBytes);
    }
    if (!this.#gone) this.sendEnd();
  }

  start(status: number): void {
    if (this.ended || this.status !== 0) return;
    this.status = status;
    if (this.#gone) return;
    try {
      this.sendHeaders(status);
    } catch (error) {
      this.failed(error);
    }
  }

  write(chunk: Buffer, done?: () => void): boolean {
    if (this.ended || this.#gone || this.status === 0) return true;
    if (this.method === 'HEAD') return true;
    this.bytesSent += chunk.length;
    return this.sendChunk(chunk, done);
  }

  drained(): Promise<void> {
    if (this.#gone || this.ended || !this.needsDrain) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakers.push(resolve);
    });
  }

  end(trailers: readonly string[] = []): void {
    if (this.ended) return;
    this.ended = true;
    if (!this.#gone && this.status !== 0) this.sendEnd(trailers);
  }

  /** Nothing is cut off after a complete answer: whoever fails late must not take back what the client is to get. */
  destroy(): void {
    if (this.ended) return;
    this.ended = true;
    this.abort(clientGone);
    this.cut();
  }

  /** The client leaves its answer unread, and there is no room for it any more. */
  cutOff(): void {
    this.cut();
  }

  /** True once the connection or stream is closed, whatever became of the answer. */
  get gone(): boolean {
    return this.#gone;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#gone) this.#controller.abort(clientGone);
    }
    return this.#controller.signal;
  }

  readBody(limit: number): Promise<Buffer> {
    const announced = Number(this.headers['content-length'] ?? 0);
    const source = this.bodySource();
    if (source === undefined) return Promise.resolve(noBytes);
    if (announced > limit * discardFactor) {
      this.refuseBody();
      return Promise.reject(statusErrors.tooLarge(`limit is ${limit}`));
    }
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      let timer: NodeJS.Timeout | undefined;
      const finish = (error: unknown): void => {
        if (timer !== undefined) clearTimeout(timer);
        this.onGone = undefined;
        // A body that was read to its end has nothing more to tell.
        if (!source.readableEnded) {
          source.removeAllListeners('data');
          source.removeAllListeners('end');
        }
        if (error !== undefined) reject(error instanceof Error ? error : clientGone);
        else if (length > limit) reject(statusErrors.tooLarge(`limit is ${limit}`));
        else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
      };
      const refuse = (): void => {
        this.refuseBody();
        finish(undefined);
      };
      this.onGone = (): void => finish(clientGone);
      source.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= limit) {
          chunks.push(chunk);
          return;
        }
        chunks.length = 0;
        timer ??= setTimeout(refuse, discardMilliseconds);
        if (length > limit * discardFactor) refuse();
      });
      source.on('end', () => finish(undefined));
      source.resume();
      if (this.#gone) finish(clientGone);
    });
  }

  upgradeToWebSocket?(): void;
  takeConnection?(): UpgradedConnection;
  bodyStream(): Readable | undefined {
    return this.bodySource();
  }
  abstract readonly buffered: number;
  abstract handOver(): NodeMessages;

  /** Called once by the protocol when nothing more can be sent, be it complete or not. */
  protected closed(complete: boolean): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#allUnread?.release(this);
    this.wake();
    this.onGone?.();
    // HTTP/2 streams say they finished even when the client aborted: only what was asked for here counts.
    if (!complete) this.abort(clientGone);
  }

  /** Node refuses a header that cannot be written: nothing was sent then, and the client must not wait for it. */
  private failed(error: unknown): never {
    this.ended = true;
    this.cut();
    throw error;
  }

  /** Answered before the body was read (a deadline): whoever waits for it must not wait on. */
  private abandonBody(): void {
    if (this.onGone === undefined) return;
    this.refuseBody();
    this.onGone();
  }

  /** The protocol's buffer has room again. */
  protected wake(): void {
    if (this.#wakers.length === 0) return;
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }

  /** The headers by name, for code that sets them one by one. */
  protected answerHeaders(): Map<string, string | string[]> {
    const headers = new Map<string, string | string[]>();
    for (let i = 0; i < this.answer.length; i += 2) {
      const [name, value] = [this.answer[i] as string, this.answer[i + 1] as string];
      const known = headers.get(name);
      headers.set(name, known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]);
    }
    return headers;
  }

  protected onGone: (() => void) | undefined;

  /** True while {@link sendChunk} said that its buffer is full. */
  protected abstract readonly needsDrain: boolean;
  protected abstract sendWhole(status: number, body: Buffer | string | undefined): void;
  protected abstract sendHeaders(status: number): void;
  protected abstract sendChunk(chunk: Buffer, done?: () => void): boolean;
  protected abstract sendEnd(trailers?: readonly string[]): void;
  protected abstract cut(): void;
  /** The body still to be read; undefined when there is none. */
  protected abstract bodySource(): Readable | undefined;
  /** The rest of the body will never be read: the connection or stream must not wait for it. */
  protected abstract refuseBody(): void;

  private abort(reason: Error): void {
    this.#controller?.abort(reason);
  }
}

/**
 * Makes objects that inherit nothing, so that any header may have any name (`__proto__`, `constructor`), and that the
 * engine lays out like those of a class: `Object.create(null)` makes hash tables, which cost more than all else here.
 */
const HeaderBag = function HeaderBag() {} as unknown as new () => Record<string, string | string[] | undefined>;
Object.defineProperty(HeaderBag, 'prototype', { value: Object.create(null) as object });

/** Headers of node's flat list of names and values, by lower-case name; what is repeated stays a list. */
export function headersFromRaw(raw: readonly string[]): Record<string, string | string[] | undefined> {
  const headers = new HeaderBag();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const given = raw[i] as string;
    if (given.charCodeAt(0) === 0x3a) continue;
    const name = given.toLowerCase();
    const value = raw[i + 1] as string;
    const seen = headers[name];
    if (seen === undefined) headers[name] = value;
    else if (typeof seen === 'string') headers[name] = [seen, value];
    else seen.push(value);
  }
  return headers;
}

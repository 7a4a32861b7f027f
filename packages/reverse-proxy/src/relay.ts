import type { Dispatcher } from 'undici';
import { BodyRelay } from './body-relay.ts';
import { failureOf, isConnectTimeout, isStaleConnection } from './failures.ts';
import { copyResponseHeaders, flatHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';
import type { Pending, Upstream } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

export interface OutgoingRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly longRunning: boolean;
}

const nothing = Buffer.alloc(0);
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether doing it twice is as good as once (RFC 9110, 9.2.1). */
export const isSafeMethod = (method: string): boolean => safeMethods.has(method);

/**
 * One request and its answer, between a client's exchange and an upstream's connection.
 *
 * The headers of an answer are held back until the end of the turn in which they came: an answer that came whole in one
 * packet leaves whole in one, and anything longer is streamed. A chunk that the client cannot take pauses the upstream's
 * connection until it can. The end of one side is the end of the other: a client that is gone aborts the upstream's
 * request at once, and an upstream that dies half way cuts the client off, so that half a list never looks whole.
 *
 * A safe request without a body that met a connection which the upstream was just closing is sent once more, and so is
 * any without a body for which no connection was made in time while others were. Whether anything else was delivered
 * cannot be known, so it is not repeated.
 */
export class Relay implements Dispatcher.DispatchHandler, Pending {
  place: Pending['place'];
  owedSince = 0;
  hasLeft = false;
  readonly #exchange: ProxyExchange;
  readonly #upstream: Upstream;
  readonly #request: OutgoingRequest;
  readonly #done = Promise.withResolvers<void>();
  #body: BodyRelay | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  /** The first piece of an answer that has not left yet. */
  #held: Buffer | undefined;
  #flushes = false;
  #began = false;
  #delivered = false;
  #retried = false;
  #over = false;

  constructor(exchange: ProxyExchange, upstream: Upstream, request: OutgoingRequest) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#request = request;
  }

  /** Resolves when the exchange is over; rejects with an {@link UpstreamError} while its answer has not begun. */
  run(): Promise<void> {
    const { signal } = this.#exchange;
    if (signal.aborted) {
      this.#upstream.over(this);
      return Promise.resolve();
    }
    const source = this.#exchange.bodyStream?.();
    if (source !== undefined) this.#body = new BodyRelay(source);
    signal.addEventListener('abort', this.#onClientGone);
    this.#send();
    return this.#done.promise;
  }

  get longRunning(): boolean {
    return this.#request.longRunning;
  }

  get isHarmless(): boolean {
    return this.#isSafe || !this.#delivered;
  }

  end(): void {
    const controller = this.#controller;
    this.#flush();
    this.#exchange.end();
    this.#finish();
    controller?.abort(new Error('the proxy stops'));
  }

  fail(error: UpstreamError): void {
    const controller = this.#controller;
    this.#finish(this.isHarmless && error.failure === 'unanswered' ? new UpstreamError('unreachable') : error);
    controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) {
      controller.abort(new Error('the request is over'));
      return;
    }
    this.#delivered = true;
    this.#upstream.sent(this);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ProxyExchange['headers']): void {
    if (this.#over) return;
    this.#upstream.streams(this);
    if (status < 200) return;
    if (status > 300 && status < 400 && !staysHere(headers['location'])) {
      this.fail(new UpstreamError('redirect'));
      return;
    }
    this.#status = status;
    copyResponseHeaders(headers, this.#exchange);
    // What the client has not sent yet cannot be told from a next request once the answer is there.
    if (this.#body?.complete === false && this.#exchange.httpVersion === '1.1') {
      this.#exchange.setHeader('connection', 'close');
    }
    this.#flushes = true;
    queueMicrotask(() => this.#flush());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    if (this.#flushes && this.#held === undefined) {
      this.#held = chunk;
      return;
    }
    this.#upstream.heard();
    this.#flush();
    this.#write(controller, chunk);
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, given: ProxyExchange['headers']): void {
    if (this.#over) return;
    const trailers = flatHeaders(given);
    // The length of a body that is not sent (HEAD, 304) stays what the upstream said.
    const bodyless = this.#request.method === 'HEAD' || this.#status === 304;
    if (this.#flushes && !bodyless && trailers.length === 0) {
      this.#flushes = false;
      this.#began = true;
      this.#exchange.respond(this.#status, this.#held ?? nothing);
    } else {
      this.#flush();
      this.#exchange.end(trailers);
    }
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#over) return;
    if (!this.#retried && this.#mayRepeat(error)) {
      this.#retried = true;
      this.#controller = undefined;
      this.#send();
      return;
    }
    const failure = failureOf(error, this.#delivered && !this.#isSafe);
    this.#finish(new UpstreamError(failure, { cause: error }));
  }

  /** Nothing was delivered and the upstream lives, or nothing can have happened twice. */
  #mayRepeat(error: Error): boolean {
    if (isConnectTimeout(error)) return !this.#upstream.unreachable() && this.#body === undefined;
    return (
      this.#delivered && this.#status === 0 && this.#isSafe && this.#body === undefined && isStaleConnection(error)
    );
  }

  get #isSafe(): boolean {
    return isSafeMethod(this.#request.method);
  }

  readonly #onClientGone = (): void => {
    const controller = this.#controller;
    this.#finish();
    controller?.abort(new Error('the client is gone'));
    this.#body?.destroy();
  };

  #send(): void {
    const { method, path, headers, longRunning } = this.#request;
    this.#upstream.queued(this);
    try {
      this.#upstream.dispatch(longRunning, { method, path, headers, body: this.#body ?? null }, this);
    } catch (cause) {
      this.#finish(new UpstreamError('malformed', { cause }));
    }
  }

  #flush(): void {
    if (!this.#flushes || this.#over) return;
    this.#flushes = false;
    this.#began = true;
    this.#exchange.start(this.#status);
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && this.#controller !== undefined) this.#write(this.#controller, held);
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    controller.pause();
    void this.#exchange.drained().then(() => controller.resume());
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

/** A path on the same server; anything else would send the client, and its credentials, to a stranger (CVE-2022-3172). */
function staysHere(location: string | readonly string[] | undefined): boolean {
  return [location ?? []].flat().every((place) => /^\/(?![/\\])/.test(place));
}

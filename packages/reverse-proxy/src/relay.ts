import type { Dispatcher } from 'undici';
import { BodyRelay } from './body-relay.ts';
import { classifyFailure, isConnectTimeout, isStaleConnection } from './error-classification.ts';
import { copyResponseHeaders, flatHeaders } from './hop-headers.ts';
import type { ProxyExchange } from './proxy-exchange.ts';
import type { PendingRequest, Upstream } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

/** Bytes of the bodies of one request. */
export interface RelayedBytes {
  /** From the client. */
  readonly request: number;
  /** From the upstream. */
  readonly response: number;
}

export interface OutgoingRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly longRunning: boolean;
  readonly onRelayed?: ((bytes: RelayedBytes) => void) | undefined;
}

const nothing = Buffer.alloc(0);
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether the method is safe (RFC 9110 section 9.2.1). */
export const isSafeMethod = (method: string): boolean => safeMethods.has(method);

/**
 * One request and its response, between a client's exchange and an upstream connection.
 *
 * Response headers are held until the end of the event-loop tick in which they arrived: a response that arrived in one
 * packet is sent in one packet, longer ones are streamed. A chunk that the client cannot accept pauses the upstream
 * connection. Each side's end is propagated: a client disconnect aborts the upstream request, and an upstream failure
 * during the response aborts the client's response, so that half a list never looks complete.
 *
 * A safe request without a body is retried once if the upstream closed the connection before responding. Any request
 * without a body is retried once if its connect timed out while the upstream was active. Other requests may have been
 * delivered and are not retried.
 */
export class Relay implements Dispatcher.DispatchHandler, PendingRequest {
  listElement: PendingRequest['listElement'];
  sentAt = 0;
  isReleased = false;
  readonly #exchange: ProxyExchange;
  readonly #upstream: Upstream;
  readonly #request: OutgoingRequest;
  readonly #done = Promise.withResolvers<void>();
  #body: BodyRelay | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #responseBytes = 0;
  /** The first chunk of a response that was not sent yet. */
  #firstChunk: Buffer | undefined;
  #headersHeld = false;
  #responseStarted = false;
  #delivered = false;
  #retried = false;
  #finished = false;

  constructor(exchange: ProxyExchange, upstream: Upstream, request: OutgoingRequest) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    this.#request = request;
  }

  /** Resolves when the exchange has finished; rejects with an {@link UpstreamError} if its response was not started. */
  run(): Promise<void> {
    const { signal } = this.#exchange;
    if (signal.aborted) {
      this.#upstream.onFinished(this);
      return Promise.resolve();
    }
    const source = this.#exchange.bodyStream?.();
    if (source !== undefined) this.#body = new BodyRelay(source);
    signal.addEventListener('abort', this.#onClientAbort);
    this.#send();
    return this.#done.promise;
  }

  get longRunning(): boolean {
    return this.#request.longRunning;
  }

  get isSafeToRetry(): boolean {
    return this.#isSafe || !this.#delivered;
  }

  end(): void {
    const controller = this.#controller;
    this.#flush();
    this.#exchange.end();
    this.#finish();
    controller?.abort(new Error('the proxy is shutting down'));
  }

  fail(error: UpstreamError): void {
    const controller = this.#controller;
    this.#finish(this.isSafeToRetry && error.failure === 'unanswered' ? new UpstreamError('unreachable') : error);
    controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#finished) {
      controller.abort(new Error('the request has finished'));
      return;
    }
    this.#delivered = true;
    this.#upstream.onSent(this);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ProxyExchange['headers']): void {
    if (this.#finished) return;
    this.#upstream.onResponseStarted(this);
    if (status < 200) return;
    if (status > 300 && status < 400 && !isLocalRedirect(headers['location'])) {
      this.fail(new UpstreamError('redirect'));
      return;
    }
    this.#status = status;
    copyResponseHeaders(headers, this.#exchange);
    // The rest of the request body cannot be distinguished from a next request once the response is sent.
    if (this.#body?.complete === false && this.#exchange.httpVersion === '1.1') {
      this.#exchange.setHeader('connection', 'close');
    }
    this.#headersHeld = true;
    queueMicrotask(() => this.#flush());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#finished) return;
    this.#responseBytes += chunk.length;
    if (this.#headersHeld && this.#firstChunk === undefined) {
      this.#firstChunk = chunk;
      return;
    }
    this.#upstream.onActivity();
    this.#flush();
    this.#write(controller, chunk);
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailerHeaders: ProxyExchange['headers']): void {
    if (this.#finished) return;
    const trailers = flatHeaders(trailerHeaders);
    // A response without a body (HEAD, 304) keeps the upstream's `content-length`.
    const bodyless = this.#request.method === 'HEAD' || this.#status === 304;
    if (this.#headersHeld && !bodyless && trailers.length === 0) {
      this.#headersHeld = false;
      this.#responseStarted = true;
      this.#exchange.respond(this.#status, this.#firstChunk ?? nothing);
    } else {
      this.#flush();
      this.#exchange.end(trailers);
    }
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#finished) return;
    if (!this.#retried && this.#canRetry(error)) {
      this.#retried = true;
      this.#controller = undefined;
      this.#send();
      return;
    }
    if (!this.#delivered) this.#upstream.onConnectFailure();
    const failure = classifyFailure(error, this.#delivered && !this.#isSafe);
    this.#finish(new UpstreamError(failure, { cause: error }));
  }

  /** Whether the request can be retried: it was not delivered and the upstream is up, or it is safe. */
  #canRetry(error: Error): boolean {
    if (isConnectTimeout(error)) return !this.#upstream.onConnectTimeout() && this.#body === undefined;
    return (
      this.#delivered && this.#status === 0 && this.#isSafe && this.#body === undefined && isStaleConnection(error)
    );
  }

  get #isSafe(): boolean {
    return isSafeMethod(this.#request.method);
  }

  readonly #onClientAbort = (): void => {
    const controller = this.#controller;
    this.#finish();
    controller?.abort(new Error('the client disconnected'));
    this.#body?.destroy();
  };

  #send(): void {
    const { method, path, headers, longRunning } = this.#request;
    this.#upstream.onQueued(this);
    try {
      this.#upstream.dispatch(longRunning, { method, path, headers, body: this.#body ?? null }, this);
    } catch (cause) {
      this.#finish(new UpstreamError('malformed', { cause }));
    }
  }

  #flush(): void {
    if (!this.#headersHeld || this.#finished) return;
    this.#headersHeld = false;
    this.#responseStarted = true;
    this.#exchange.start(this.#status);
    const chunk = this.#firstChunk;
    this.#firstChunk = undefined;
    if (chunk !== undefined && this.#controller !== undefined) this.#write(this.#controller, chunk);
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#exchange.write(chunk)) return;
    controller.pause();
    void this.#exchange.drained().then(() => controller.resume());
  }

  #finish(error?: UpstreamError): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#exchange.signal.removeEventListener('abort', this.#onClientAbort);
    this.#upstream.onFinished(this);
    this.#request.onRelayed?.({ request: this.#body?.bytes ?? 0, response: this.#responseBytes });
    if (error === undefined) {
      this.#done.resolve();
    } else if (this.#responseStarted) {
      this.#exchange.destroy();
      this.#done.resolve();
    } else {
      this.#done.reject(error);
    }
  }
}

/**
 * Whether a redirect stays on the same server; any other target would receive the client's credentials (CVE-2022-3172).
 */
function isLocalRedirect(location: string | readonly string[] | undefined): boolean {
  return [location ?? []].flat().every((place) => /^\/(?![/\\])/.test(place));
}

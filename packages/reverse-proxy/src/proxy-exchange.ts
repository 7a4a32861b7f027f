import type { Duplex, Readable } from 'node:stream';

/**
 * What the proxy needs of a request and its answer. The API server's `Exchange` is one, over HTTP/1.1 and HTTP/2 alike,
 * so nothing of either protocol is in here: pseudo-headers never reach the proxy, nor do they leave it.
 */
export interface ProxyExchange {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  /** Lower-case names; a repeated header is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly httpVersion: string;
  readonly socket: { readonly remoteAddress?: string | undefined };
  /** The body as it comes; undefined when there is none. */
  bodyStream?(): Readable | undefined;
  /** Takes the connection of a request with `Upgrade` away from HTTP. */
  takeConnection?(): { readonly socket: Duplex; readonly head: Buffer };
  /** The exchange below one that compresses. */
  readonly direct?: ProxyExchange;

  readonly headersSent: boolean;
  setHeader(name: string, value: string | readonly string[]): void;
  /** The whole answer at once; sets `content-length`. */
  respond(status: number, body: Buffer): void;
  /** Begins a streamed answer. */
  start(status: number): void;
  /** False: wait for {@link drained}. */
  write(chunk: Buffer): boolean;
  drained(): Promise<void>;
  end(trailers?: readonly string[]): void;
  /** Cuts the answer off. */
  destroy(): void;
  /** Aborts when the client is gone before the answer is complete. */
  readonly signal: AbortSignal;
}

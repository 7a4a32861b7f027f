import type { Duplex, Readable } from 'node:stream';

/**
 * The part of the API server's `Exchange` that the proxy uses, for HTTP/1.1 and HTTP/2 alike. Pseudo-headers of HTTP/2
 * neither reach the proxy nor leave it.
 */
export interface ProxyExchange {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Lower-case names; a repeated header is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly httpVersion: string;
  readonly socket: { readonly remoteAddress?: string | undefined };
  /** The body stream; undefined without a body. */
  bodyStream?(): Readable | undefined;
  /** Detaches the connection of a request with `Upgrade` from HTTP. */
  takeConnection?(): { readonly socket: Duplex; readonly head: Buffer };
  /** The exchange below compression. */
  readonly direct?: ProxyExchange;

  readonly headersSent: boolean;
  setHeader(name: string, value: string | readonly string[]): void;
  /** Sends a complete response; sets `content-length`. */
  respond(status: number, body: Buffer): void;
  /** Starts a streamed response. */
  start(status: number): void;
  /** False: wait for {@link drained}. */
  write(chunk: Buffer): boolean;
  drained(): Promise<void>;
  end(trailers?: readonly string[]): void;
  /** Aborts the response. */
  destroy(): void;
  /** Aborts when the client disconnects before the response is complete. */
  readonly signal: AbortSignal;
}

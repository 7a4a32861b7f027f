import { constants, type ClientHttp2Stream, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2';
import { errorText } from '@multiplane/apimachinery';
import { FrameReader, framed } from './grpc-frames.ts';
import { grpcFailure } from './grpc-failure.ts';
import { type GrpcConnection, type GrpcSession, unsentText } from './grpc-session.ts';

/** A method of a service: its path and its codecs. */
export interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (response: Buffer) => Response;
}

/**
 * Sends one unary call, once. Failures have the texts of grpc-js; {@link unsentText} is in those of calls that provably
 * have not left this process, and in no others.
 */
export function unaryCall<Request, Response>(
  session: GrpcSession,
  { path, encode, decode }: UnaryMethod<Request, Response>,
  request: Request,
  timeoutMs: number,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const milliseconds = Math.max(1, Math.ceil(timeoutMs));
    const frame = framed(encode(request));
    const { stream, connection } = session.open(path, `${milliseconds}m`);
    const settle = (error: Error | undefined, message: Buffer | undefined): void => {
      if (message === undefined) {
        reject(error ?? grpcFailure(13, 'the response has no message'));
        return;
      }
      try {
        resolve(decode(message));
      } catch (cause) {
        reject(grpcFailure(13, 'failed to decode the response', cause));
      }
    };
    new UnaryResponse(stream, connection, settle).await(milliseconds);
    stream.end(frame);
  });
}

/** The response on one stream; the first outcome counts. */
class UnaryResponse {
  readonly #stream: ClientHttp2Stream;
  readonly #connection: GrpcConnection;
  readonly #settle: (error: Error | undefined, message: Buffer | undefined) => void;
  readonly #frames = new FrameReader((message) => (this.#message = message));
  #timer: NodeJS.Timeout | undefined;
  #isSettled = false;
  #message: Buffer | undefined;
  #status: string | undefined;
  #text = '';
  #cause: unknown;

  constructor(
    stream: ClientHttp2Stream,
    connection: GrpcConnection,
    settle: (error: Error | undefined, message: Buffer | undefined) => void,
  ) {
    this.#stream = stream;
    this.#connection = connection;
    this.#settle = settle;
  }

  await(timeoutMs: number): void {
    const stream = this.#stream;
    const connection = this.#connection;
    // Silence counts from the first outstanding response.
    if (connection.calls++ === 0) connection.heardAt = performance.now();
    this.#timer = setTimeout(() => {
      this.#end(grpcFailure(4, connection.isOpen ? 'Deadline exceeded' : `${unsentText} in time`));
      stream.destroy();
    }, timeoutMs);
    stream.on('response', (headers) => this.#take(headers));
    stream.on('trailers', (headers: IncomingHttpHeaders) => this.#take(headers));
    stream.on('data', (chunk: Buffer) => this.#push(chunk));
    stream.on('error', (error: Error) => {
      this.#cause ??= error;
    });
    stream.on('close', () => this.#onClose());
  }

  #take(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.#connection.heardAt = performance.now();
    const status = headers['grpc-status'];
    if (status !== undefined) {
      this.#status = String(status);
      this.#text = decoded(String(headers['grpc-message'] ?? ''));
      // The outcome is known; the stream closes an iteration later.
      if (this.#status === '0' && this.#message !== undefined) this.#end(undefined, this.#message);
    } else if (headers[':status'] !== undefined && headers[':status'] !== 200) {
      this.#status = '14';
      this.#text = `HTTP status ${headers[':status']}`;
    }
  }

  #push(chunk: Buffer): void {
    this.#connection.heardAt = performance.now();
    try {
      this.#frames.push(chunk);
    } catch (error) {
      this.#end(error as Error);
      this.#stream.destroy();
    }
  }

  #onClose(): void {
    if (this.#isSettled) return;
    const status = this.#status;
    if (status === '0') this.#end(undefined, this.#frames.isPartial ? undefined : this.#message);
    else if (status !== undefined) this.#end(grpcFailure(Number(status), this.#text));
    else {
      const cause = this.#cause;
      // A server has not processed a refused stream (RFC 9113 §8.7).
      const isUnsent = !this.#connection.isOpen || this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
      const text = isUnsent ? unsentText : 'Connection dropped';
      this.#end(grpcFailure(14, cause === undefined ? text : `${text}: ${errorText(cause)}`, cause));
    }
  }

  #end(error: Error | undefined, message?: Buffer): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#connection.calls--;
    this.#settle(error, message);
  }
}

/** `grpc-message` is percent-encoded; a text that is not is returned as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

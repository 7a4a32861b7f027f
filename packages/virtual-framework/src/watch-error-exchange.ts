import { isStatusError, type StatusError } from '@multiplane/apimachinery';
import { ExchangeDecorator, type Exchange } from '@multiplane/generic-server';

const lineFeed = 0x0a;

/**
 * The response of a watch that is forwarded. If the reason of the signal is a StatusError when the response ends, the client
 * gets it as the last event, as a watch of a shard that cannot continue ends. Only between two events of a JSON stream: a
 * response that is cut off within an event, or in another media type, just ends, and the next request gets the error.
 */
export class WatchErrorExchange extends ExchangeDecorator {
  readonly #signal: AbortSignal;
  #isJson = false;
  #isBetweenEvents = false;

  constructor(exchange: Exchange, signal: AbortSignal) {
    super(exchange.direct ?? exchange);
    this.#signal = signal;
  }

  override get direct(): Exchange {
    return this;
  }

  override setHeader(name: string, value: string | readonly string[]): void {
    if (name.toLowerCase() === 'content-type') this.#isJson = String(value).startsWith('application/json');
    super.setHeader(name, value);
  }

  override start(status: number): void {
    this.#isBetweenEvents = status === 200;
    super.start(status);
  }

  override write(chunk: Buffer, done?: () => void): boolean {
    if (chunk.length > 0) this.#isBetweenEvents = chunk.at(-1) === lineFeed;
    return super.write(chunk, done);
  }

  override end(trailers?: readonly string[]): void {
    const { aborted, reason } = this.#signal as { readonly aborted: boolean; readonly reason: unknown };
    if (aborted && this.#isJson && this.#isBetweenEvents && isStatusError(reason))
      super.write(Buffer.from(errorEvent(reason)));
    super.end(trailers);
  }
}

const errorEvent = (error: StatusError): string => `${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`;

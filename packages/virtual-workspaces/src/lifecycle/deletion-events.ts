import { ExchangeDecorator, type Exchange } from '@multiplane/generic-server';

const newline = 0x0a;

/**
 * Passes on the events of a watch whose objects are marked for deletion, with bookmarks and errors. The shard sends lines
 * of JSON, cut anywhere; a line is decided on when it is complete. Responses that are no stream are not affected.
 */
export class DeletionEvents extends ExchangeDecorator {
  #rest: readonly Buffer[] = [];

  constructor(exchange: Exchange) {
    super(exchange.direct ?? exchange);
  }

  /** Itself, so that no handler bypasses the filter. */
  override get direct(): Exchange {
    return this;
  }

  override write(chunk: Buffer, done?: () => void): boolean {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end === 0) {
      this.#rest = [...this.#rest, chunk];
      done?.();
      return true;
    }
    const lines = Buffer.concat([...this.#rest, chunk.subarray(0, end)]);
    this.#rest = end === chunk.length ? [] : [chunk.subarray(end)];
    const kept = lines
      .toString()
      .split('\n')
      .filter((line) => line !== '' && isPassedOn(line));
    if (kept.length > 0) return this.inner.write(Buffer.from(`${kept.join('\n')}\n`), done);
    done?.();
    return true;
  }
}

function isPassedOn(line: string): boolean {
  const { type, object } = JSON.parse(line) as {
    readonly type: string;
    readonly object?: { readonly metadata?: { readonly deletionTimestamp?: string } };
  };
  return type === 'BOOKMARK' || type === 'ERROR' || object?.metadata?.deletionTimestamp !== undefined;
}

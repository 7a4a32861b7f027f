import { createInterface } from 'node:readline';
import type { RestTransport } from '@multiplane/client';

interface WatchTimesOptions<E> {
  /** Path and query of the watch, but `watch=true`. */
  readonly path: string;
  /** What an event ends of what was begun, if anything; called for each event once, in order. */
  readonly ends: (event: E) => string | undefined;
}

/** Follows a watch, and notes how long after each thing was begun the event came that ends it. */
export class WatchTimes<E> {
  readonly milliseconds: number[] = [];
  readonly #transport: RestTransport;
  readonly #options: WatchTimesOptions<E>;
  readonly #begun = new Map<string, number>();
  readonly #abort = new AbortController();
  #ended = 0;
  #wake: (() => void) | undefined;

  constructor(options: WatchTimesOptions<E>, { transport }: { readonly transport: RestTransport }) {
    this.#options = options;
    this.#transport = transport;
  }

  /** From a version on; without one, from what is there. */
  async open(resourceVersion?: string): Promise<void> {
    const { path } = this.#options;
    const from = resourceVersion === undefined ? '' : `&resourceVersion=${resourceVersion}`;
    const response = await this.#transport.open({
      method: 'GET',
      path: `${path}${path.includes('?') ? '&' : '?'}watch=true${from}`,
      signal: this.#abort.signal,
      longRunning: true,
    });
    const lines = createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY });
    lines.on('line', (line) => this.#see(line));
    lines.on('error', (error) => {
      if (!this.#abort.signal.aborted) throw error;
    });
  }

  begin(what: string): void {
    this.#begun.set(what, performance.now());
  }

  /** Resolves when so many have ended since the beginning. */
  async all(count: number): Promise<void> {
    while (this.#ended < count) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  close(): void {
    this.#abort.abort();
  }

  #see(line: string): void {
    const what = this.#options.ends(JSON.parse(line) as E);
    const began = what === undefined ? undefined : this.#begun.get(what);
    if (what === undefined || began === undefined) return;
    this.#begun.delete(what);
    this.milliseconds.push(performance.now() - began);
    this.#ended += 1;
    this.#wake?.();
  }
}

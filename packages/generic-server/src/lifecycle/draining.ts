import type { LogicalClusterName } from '@multiplane/apimachinery';
import { slicesOfTurns } from '@multiplane/component-base';
import type { RequestInfo } from './request-info.ts';
import type { ServerRequestContext } from './server-request-context.ts';

/** Long-running requests end with this when the server stops: a proper end, not a failure. */
export class ServerStoppingError extends Error {
  override readonly name = 'ServerStoppingError';
  constructor() {
    super('the server is stopping');
  }
}

/**
 * Whether a server is on its way down, shared by its listener and its chain. Once it began, new requests are turned away
 * and the long-running ones are told to end; the others finish by themselves.
 */
export class Draining {
  readonly #longRunning = new Set<ServerRequestContext>();
  /** Those of one logical cluster: they end without a look at all the others. */
  readonly #byCluster = new Map<string, Set<ServerRequestContext>>();
  #begun = false;

  get begun(): boolean {
    return this.#begun;
  }

  /** Watches and the like, as long as they run. */
  get longRunning(): number {
    return this.#longRunning.size;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    void this.#endAll([...this.#longRunning]);
  }

  /** Thousands of watches that end take longer than a turn of the event loop may. */
  async #endAll(contexts: readonly ServerRequestContext[]): Promise<void> {
    const slices = slicesOfTurns();
    for (const context of contexts) {
      if (this.#longRunning.has(context)) context.cancel(new ServerStoppingError());
      if (slices.over) await slices.next();
    }
  }

  /** Ends some of those that run in a logical cluster, as an answer that is complete ends. */
  end(cluster: LogicalClusterName, matches: (info: RequestInfo) => boolean, reason: Error): void {
    for (const context of this.#byCluster.get(cluster) ?? []) if (matches(context.info)) context.cancel(reason);
  }

  /** A long-running request begins; call the result when it is over. */
  register(context: ServerRequestContext): () => void {
    const { cluster = '' } = context.info;
    const beside = this.#byCluster.get(cluster) ?? new Set();
    this.#byCluster.set(cluster, beside.add(context));
    this.#longRunning.add(context);
    if (this.#begun) context.cancel(new ServerStoppingError());
    return () => {
      this.#longRunning.delete(context);
      if (beside.delete(context) && beside.size === 0) this.#byCluster.delete(cluster);
    };
  }
}

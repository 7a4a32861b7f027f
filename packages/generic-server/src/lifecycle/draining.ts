import type { LogicalClusterName } from '@multiplane/apimachinery';
import { timeSlices } from '@multiplane/component-base';
import type { RequestInfo } from '../request/request-info.ts';
import type { ServerRequestContext } from '../request/server-request-context.ts';

/** Abort reason of long-running requests when the server stops: a regular end, not a failure. */
export class ServerStoppingError extends Error {
  override readonly name = 'ServerStoppingError';
  constructor() {
    super('the server is stopping');
  }
}

/**
 * Shutdown state of a server. After {@link begin}, `withDraining` rejects new requests, long-running requests are aborted,
 * and the others may finish.
 */
export class Draining {
  readonly #longRunning = new Set<ServerRequestContext>();
  /** By logical cluster, for {@link end}. */
  readonly #byCluster = new Map<string, Set<ServerRequestContext>>();
  #hasBegun = false;

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Number of running long-running requests. */
  get longRunning(): number {
    return this.#longRunning.size;
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.#endAll([...this.#longRunning]);
  }

  /** In time slices: aborting thousands of watches would block the event loop. */
  async #endAll(contexts: readonly ServerRequestContext[]): Promise<void> {
    const slices = timeSlices();
    for (const context of contexts) {
      if (this.#longRunning.has(context)) context.cancel(new ServerStoppingError());
      if (slices.isExceeded) await slices.yield();
    }
  }

  /** Ends matching long-running requests of a logical cluster, or over all of them, with a complete response. */
  end(cluster: LogicalClusterName | '*', matches: (info: RequestInfo) => boolean, reason: Error): void {
    for (const context of this.#byCluster.get(cluster) ?? []) if (matches(context.info)) context.cancel(reason);
  }

  /** Registers a long-running request; the result removes it. */
  register(context: ServerRequestContext): () => void {
    const { cluster = '' } = context.info;
    const ofCluster = this.#byCluster.get(cluster) ?? new Set();
    this.#byCluster.set(cluster, ofCluster.add(context));
    this.#longRunning.add(context);
    if (this.#hasBegun) context.cancel(new ServerStoppingError());
    return () => {
      this.#longRunning.delete(context);
      if (ofCluster.delete(context) && ofCluster.size === 0) this.#byCluster.delete(cluster);
    };
  }
}

import { LinkedList } from '@multiplane/component-base';

/** A request that waits for its turn. */
export interface WaitingRequest {
  /** What its unread body may occupy of the connection's buffers. */
  readonly bytes: number;
  /** Milliseconds of the monotonic clock. */
  readonly waitsUntil: number;
  /** Ends the wait; with an error the request is refused. The caller has removed it from the queue. */
  settle(error?: Error): void;
}

/** The requests of one logical cluster that wait for their turn, in the order of their arrival. */
export class TurnQueue {
  readonly #requests = new LinkedList<WaitingRequest>();
  bytes = 0;
  /** Turns of the rate that were paid for and have not come yet. */
  granted = 0;
  /** The next time without other work is asked for. */
  hasIdleTurn = false;

  get size(): number {
    return this.#requests.size;
  }

  get first(): WaitingRequest | undefined {
    return this.#requests.first?.value;
  }

  /** Returns what removes the request; further calls of it have no effect. */
  add(request: WaitingRequest): () => boolean {
    const element = this.#requests.add(request);
    this.bytes += request.bytes;
    let isWaiting = true;
    return () => {
      if (!isWaiting) return false;
      isWaiting = false;
      element.remove();
      this.bytes -= request.bytes;
      return true;
    };
  }
}

import { statusErrors, type LogicalClusterName } from '@multiplane/apimachinery';
import type { Clock, TimeSlicedQueue } from '@multiplane/component-base';
import type { Activity, ClusterActivity } from './cluster-activity.ts';
import type { WaitingRequest } from './turn-queue.ts';
import type { WorkspaceLimits } from './workspace-limits.ts';

export interface RequestTurnsOptions {
  /** How long a request may wait. */
  readonly waitLimitMs: number;
}

export interface RequestTurnsModules {
  readonly activity: ClusterActivity;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
  /** Work of normal priority: requests whose turn has come by their rate, and the passes of all large requests. */
  readonly turns: Pick<TimeSlicedQueue, 'add' | 'isEmpty'>;
  /** Runs callbacks while the event loop has no other work, and a little beside it. */
  readonly idleTurns: Pick<TimeSlicedQueue, 'add'>;
  /** Requests that wait for a seat of priority and fairness. */
  readonly flowControl: { readonly waiting: number };
}

/** A request on its way to the endpoints. */
interface TurnRequest {
  /** Only read for requests that wait. */
  readonly signal: AbortSignal;
  readonly exchange: { readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> };
}

/** How many seconds' requests may start at once. */
const burstSeconds = 5;
/** Period in which queues get the turns of their rate. The bucket keeps what nobody waits for, so no turn is lost. */
const periodMs = 20;
/** Requests that wait and the buffers of their bodies: of one workspace, and of all. */
const maxWaiting = { requests: 1_000, bytes: 16 * 1024 * 1024 };
const maxWaitingTogether = { requests: 10_000, bytes: 128 * 1024 * 1024 };
/** A body that is not read fills these buffers at most, as large as the window of an HTTP/2 stream. */
const maxUnreadBytes = 256 * 1024;
const maxRetryAfterSeconds = 32;

/**
 * The turns of requests under the limit of requests per second: it divides a busy server, and restricts nobody on an idle one.
 *
 * 1. Each workspace has a bucket of tokens, refilled at its limit. A request that finds a token starts.
 * 2. Without a token it starts as well if only requests of its own workspace are in flight.
 * 3. Otherwise it waits in the queue of its workspace, without a seat of priority and fairness and with its body unread.
 * 4. The queue gets a turn for each token of its rate, however busy the server is (in fair time slices of the event loop).
 * 5. It gets further turns, which cost no token, at low priority: while no request waits for a seat and no work for a slice.
 * 6. A queue is bounded by requests, by bytes, and, while others wait, by the time that its rate needs for it; a request also waits
 *    at most that long. Beyond that it is refused with 429, and `Retry-After` is the time that the rate needs for those that wait.
 *
 * So a client at its limit gets the whole of it, whatever its number of connections, and what it gets beyond it, others do not need.
 */
export class RequestTurns {
  readonly #options: RequestTurnsOptions;
  readonly #modules: RequestTurnsModules;
  readonly #queues = new Map<LogicalClusterName, Activity>();
  #waiting = 0;
  #waitingBytes = 0;
  #isPeriodScheduled = false;

  constructor(options: RequestTurnsOptions, modules: RequestTurnsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * Undefined: the request, which counts as in flight already, may start. A promise: it waits, and rejects with 429 or with the
   * reason of the signal. Throws 429 if it cannot wait.
   */
  take(cluster: LogicalClusterName, own: Activity, request: TurnRequest): Promise<void> | undefined {
    const { activity, limits, clock } = this.#modules;
    const { max } = limits.of(cluster).requestsPerSecond;
    const tokens = own.requestTokens.refill(clock.monotonic(), max, burstSeconds);
    if (own.turns.size === 0) {
      if (tokens >= 1) {
        own.requestTokens.take(1);
        return undefined;
      }
      if (activity.isAlone(own)) return undefined;
    }
    const bytes = unreadBytes(request);
    if (!this.#hasRoom(own, bytes, max)) throw this.#refusal(cluster, own);
    return this.#wait(cluster, own, request, bytes);
  }

  #hasRoom({ turns }: Activity, bytes: number, max: number): boolean {
    return (
      turns.size < maxWaiting.requests &&
      turns.bytes + bytes <= maxWaiting.bytes &&
      (turns.size * 1000 < max * this.#options.waitLimitMs || !this.#isOtherWorkWaiting) &&
      this.#waiting < maxWaitingTogether.requests &&
      this.#waitingBytes + bytes <= maxWaitingTogether.bytes
    );
  }

  #wait(cluster: LogicalClusterName, own: Activity, { signal }: TurnRequest, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waitsUntil = this.#modules.clock.monotonic() + this.#options.waitLimitMs;
      const leave = (): void => waiting.settle(signal.reason instanceof Error ? signal.reason : new Error('cancelled'));
      const waiting: WaitingRequest = {
        bytes,
        waitsUntil,
        settle: (error) => {
          if (!remove()) return;
          this.#waiting--;
          this.#waitingBytes -= bytes;
          if (own.turns.size === 0) this.#queues.delete(cluster);
          signal.removeEventListener('abort', leave);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      const remove = own.turns.add(waiting);
      this.#waiting++;
      this.#waitingBytes += bytes;
      this.#queues.set(cluster, own);
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave);
      this.#askForIdleTurn(cluster, own);
      this.#schedulePeriod();
    });
  }

  /** Gives the queues the turns of their rate, and refuses what has waited too long. */
  readonly #period = (): void => {
    const { clock, limits, turns } = this.#modules;
    this.#isPeriodScheduled = false;
    const now = clock.monotonic();
    for (const [cluster, own] of this.#queues) {
      const { max } = limits.of(cluster).requestsPerSecond;
      const tokens = own.requestTokens.refill(now, max, burstSeconds);
      const count = Math.max(0, Math.min(Math.floor(tokens), own.turns.size - own.turns.granted));
      own.requestTokens.take(count);
      own.turns.granted += count;
      for (let n = 0; n < count; n++) turns.add(() => useTurn(own), cluster);
      for (let { first } = own.turns; first !== undefined && first.waitsUntil < now; { first } = own.turns)
        first.settle(this.#refusal(cluster, own));
      this.#askForIdleTurn(cluster, own);
    }
    if (this.#queues.size > 0) this.#schedulePeriod();
  };

  #schedulePeriod(): void {
    if (this.#isPeriodScheduled) return;
    this.#isPeriodScheduled = true;
    this.#modules.clock.after(periodMs, this.#period);
  }

  #askForIdleTurn(cluster: LogicalClusterName, own: Activity): void {
    if (own.turns.hasIdleTurn || own.turns.size === 0) return;
    own.turns.hasIdleTurn = true;
    this.#modules.idleTurns.add(() => {
      own.turns.hasIdleTurn = false;
      // While others wait the next period asks again: to ask at once would keep the event loop from sleeping.
      if (this.#isOtherWorkWaiting) return;
      own.turns.first?.settle();
      this.#askForIdleTurn(cluster, own);
    }, cluster);
  }

  get #isOtherWorkWaiting(): boolean {
    const { turns, flowControl } = this.#modules;
    return flowControl.waiting > 0 || !turns.isEmpty;
  }

  #refusal(cluster: LogicalClusterName, own: Activity): Error {
    const { max } = this.#modules.limits.of(cluster).requestsPerSecond;
    const seconds = Math.max(1, Math.min(Math.ceil(own.turns.size / max), maxRetryAfterSeconds));
    const text = this.#modules.limits.exceeded(cluster, 'requestsPerSecond', { used: max, requested: 1 });
    return statusErrors.tooManyRequests(text, seconds);
  }
}

function useTurn({ turns, requestTokens }: Activity): void {
  turns.granted--;
  const { first } = turns;
  // The requests that waited have left or got an idle turn meanwhile.
  if (first === undefined) requestTokens.take(-1);
  else first.settle();
}

function unreadBytes({ exchange: { headers } }: TurnRequest): number {
  if (headers['transfer-encoding'] !== undefined) return maxUnreadBytes;
  const announced = Number(headers['content-length'] ?? 0);
  return announced >= 0 && announced < maxUnreadBytes ? announced : maxUnreadBytes;
}

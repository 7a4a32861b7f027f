import { statusErrors } from '@multiplane/apimachinery';
import { LinkedList, type Clock, type ListElement, type Timer } from '@multiplane/component-base';

/** A request whose body is being received. */
export interface PendingBody {
  /** Set by the {@link RequestBodyLimiter} only. */
  progress: BodyProgress | undefined;
  /** The user who sends it; empty: unknown. */
  readonly owner: string;
  /** Ends the request with an error; the rest of the body is not read. */
  refuseSlowBody(reason: Error): void;
}

export interface BodyProgress {
  readonly startedAt: number;
  readonly position: ListElement<PendingBody>;
  bytes: number;
}

export interface RequestBodyLimits {
  /** Bytes of all bodies that are being received. */
  readonly maxBytes: number;
  readonly maxBytesPerOwner: number;
  readonly minBytesPerSecond: number;
  /** Time after which the minimum rate holds. */
  readonly graceMs: number;
}

const checkMs = 1_000;

/**
 * Limits request bodies while they arrive. They occupy no seat (see SeatExchange), but memory:
 *
 * ```
 *  every second          bodies that are slower than the minimum rate since their start are refused: 408
 *  too many bytes        of one user or of all: the body that grew the limit is refused: 429
 * ```
 * A body is in memory as a whole before it is decoded, so without the limit thousands of streams that each keep back their
 * last byte would fill the memory.
 */
export class RequestBodyLimiter {
  readonly #limits: RequestBodyLimits;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #bodies = new LinkedList<PendingBody>();
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;
  #timer: Timer | undefined;

  constructor(limits: RequestBodyLimits, modules: { readonly clock: Clock }) {
    this.#limits = limits;
    this.#clock = modules.clock;
  }

  start(body: PendingBody): void {
    body.progress = { startedAt: this.#clock.monotonic(), position: this.#bodies.add(body), bytes: 0 };
    if (this.#timer === undefined) this.#timer = this.#clock.after(checkMs, () => this.#check());
  }

  /** May refuse the body. */
  received(body: PendingBody, bytes: number): void {
    const { progress, owner } = body;
    if (progress === undefined) return;
    progress.bytes += bytes;
    this.#bytes += bytes;
    const own = (this.#bytesOf.get(owner) ?? 0) + bytes;
    this.#bytesOf.set(owner, own);
    const { maxBytes, maxBytesPerOwner } = this.#limits;
    if (this.#bytes > maxBytes || (owner !== '' && own > maxBytesPerOwner))
      body.refuseSlowBody(statusErrors.tooManyRequests('too many request bodies are being received', 1));
  }

  /** The body is complete or given up. Further calls have no effect. */
  end(body: PendingBody): void {
    const { progress, owner } = body;
    if (progress === undefined) return;
    body.progress = undefined;
    progress.position.remove();
    if (progress.bytes === 0) return;
    this.#bytes -= progress.bytes;
    const own = (this.#bytesOf.get(owner) ?? 0) - progress.bytes;
    if (own > 0) this.#bytesOf.set(owner, own);
    else this.#bytesOf.delete(owner);
  }

  #check(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    const { graceMs, minBytesPerSecond } = this.#limits;
    for (const body of this.#bodies) {
      const { progress } = body;
      if (progress === undefined) continue;
      const elapsed = now - progress.startedAt;
      // All further ones are younger.
      if (elapsed < graceMs) break;
      if (progress.bytes < (minBytesPerSecond * elapsed) / 1000)
        body.refuseSlowBody(statusErrors.untyped('the request body arrives too slowly', 408));
    }
    if (this.#bodies.size > 0) this.#timer = this.#clock.after(checkMs, () => this.#check());
  }
}

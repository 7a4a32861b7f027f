import { quote, statusErrors } from '@multiplane/apimachinery';
import { LinkedList, parseDuration, type Clock, type ListElement, type Timer } from '@multiplane/component-base';
import type { RequestMetrics } from '../request/request-metrics.ts';
import { writeStatusError } from '../response/responses.ts';
import { isLongRunning, type ServerRequestContext } from '../request/server-request-context.ts';

export interface DeadlineOptions {
  /** Maximum duration of requests that are not long-running. */
  readonly requestTimeoutMs: number;
}

export interface DeadlineModules {
  readonly clock: Clock;
  readonly metrics: RequestMetrics;
}

/** How long a handler may take after the abort to respond itself. */
const graceMilliseconds = 100;

type Handler = (context: ServerRequestContext) => Promise<void>;

/**
 * Limits requests that are not long-running by `?timeout` or the server's limit, whichever is shorter. First the signal of
 * the context aborts, so that the handler can respond; after a grace period the filter responds with 504.
 */
export function withDeadline(options: DeadlineOptions, modules: DeadlineModules): (next: Handler) => Handler {
  const defaultQueue = new DeadlineQueue(options.requestTimeoutMs, modules);
  return (next) => (context) => {
    // The parameter means nothing to a watch, whatever it holds.
    if (isLongRunning(context.info)) return next(context);
    const limit = timeoutOf(context, options.requestTimeoutMs);
    const queue = limit === options.requestTimeoutMs ? defaultQueue : new DeadlineQueue(limit, modules);
    const position = queue.add(context);
    context.onFinish(() => {
      queue.remove(position);
      if (queue !== defaultQueue) queue.stop();
    });
    return next(context);
  };
}

/** Interval at which the timer of a queue runs; a stopping process waits at most this long for it. */
const maxTimerMilliseconds = 200;

/** A request in a queue. `expired`: the signal is aborted and the grace period runs. */
interface PendingRequest {
  readonly context: ServerRequestContext;
  readonly deadline: number;
  state: 'running' | 'expired' | 'finished';
}
type QueuePosition = ListElement<PendingRequest>;

/**
 * Requests with the same limit, in order of arrival and therefore of deadline. One timer serves all of them: it runs a few
 * times per second while there are requests. A timer per request would cost more than most filters, although nearly every
 * request finishes long before its deadline.
 */
class DeadlineQueue {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #metrics: RequestMetrics;
  readonly #queue = new LinkedList<PendingRequest>();
  #timer: Timer | undefined;

  constructor(limit: number, { clock, metrics }: DeadlineModules) {
    this.#limit = limit;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  add(context: ServerRequestContext): QueuePosition {
    const deadline = this.#clock.monotonic() + this.#limit;
    const position = this.#queue.add({ context, deadline, state: 'running' });
    if (this.#timer === undefined) this.#arm(this.#limit);
    return position;
  }

  remove(position: QueuePosition): void {
    position.remove();
    position.value.state = 'finished';
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = this.#clock.after(Math.min(milliseconds, maxTimerMilliseconds), () => this.#expire());
  }

  #expire(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let first = this.#queue.first; first !== undefined; first = this.#queue.first) {
      if (first.value.deadline > now) {
        this.#arm(first.value.deadline - now);
        return;
      }
      first.remove();
      this.#cancel(first.value);
    }
  }

  #cancel(request: PendingRequest): void {
    const { context } = request;
    request.state = 'expired';
    this.#metrics.terminated(context, 504);
    context.cancel(
      statusErrors.timeout('request did not complete within requested timeout - context deadline exceeded'),
    );
    this.#clock.after(graceMilliseconds, () => {
      if (request.state !== 'expired') return;
      request.state = 'finished';
      writeStatusError(context, statusErrors.timeout('request did not complete within the allotted timeout'));
    });
  }
}

/** Throws 400 for an invalid timeout, before authentication, as kube-apiserver does. Zero and negative values mean no timeout. */
function timeoutOf({ exchange, info }: ServerRequestContext, max: number): number {
  const text = exchange.url.includes('timeout') ? (info.query.get('timeout') ?? '') : '';
  if (text === '') return max;
  let requested: number;
  try {
    requested = parseDuration(text);
  } catch (error) {
    throw statusErrors.badRequest(
      `invalid timeout specified in the request URL - time: ${durationProblem(text)}`,
      error,
    );
  }
  return requested > 0 ? Math.min(requested, max) : max;
}

const wholeTerms = /^[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))*/;

/** The error text of Go's `time.ParseDuration`. */
function durationProblem(text: string): string {
  const rest = text.slice(wholeTerms.exec(text)?.[0].length ?? 0);
  const [, unit] = /^(?:\d+\.?\d*|\.\d+)([^\d.]*)/.exec(rest) ?? [];
  if (unit === undefined) return `invalid duration ${quote(text)}`;
  if (unit === '') return `missing unit in duration ${quote(text)}`;
  return `unknown unit ${quote(unit)} in duration ${quote(text)}`;
}

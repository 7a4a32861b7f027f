import { quote, statusErrors } from '@multiplane/apimachinery';
import { LinkedList, parseDuration, type Clock, type ListElement, type Timer } from '@multiplane/component-base';
import type { RequestMetrics } from '../request-metrics.ts';
import { writeStatusError } from '../responses.ts';
import { isLongRunning, type ServerRequestContext } from '../server-request-context.ts';

export interface DeadlineOptions {
  /** Longest time for a request that is not long-running. */
  readonly requestTimeoutMs: number;
}

export interface DeadlineModules {
  readonly clock: Clock;
  readonly metrics: RequestMetrics;
}

/** How long a handler may take to notice the deadline and answer in words of its own. */
const noticeMilliseconds = 100;

type Handler = (context: ServerRequestContext) => Promise<void>;

/**
 * Bounds requests that are not long-running by `?timeout` or the server's limit, whichever is less (K1.3): first the
 * context's signal aborts, so that the handler can answer; then the answer is given for it.
 */
export function withDeadline(options: DeadlineOptions, modules: DeadlineModules): (next: Handler) => Handler {
  const usual = new DeadlineQueue(options.requestTimeoutMs, modules);
  return (next) => (context) => {
    const limit = timeoutOf(context, options.requestTimeoutMs);
    if (isLongRunning(context.info)) return next(context);
    const queue = limit === options.requestTimeoutMs ? usual : new DeadlineQueue(limit, modules);
    const place = queue.add(context);
    context.whenOver(() => {
      queue.remove(place);
      if (queue !== usual) queue.stop();
    });
    return next(context);
  };
}

/** How long the timer of a queue may outlive its last request: a process that stops waits for it. */
const idleMilliseconds = 200;

/** A request in its queue. */
interface Waiting {
  readonly context: ServerRequestContext;
  readonly deadline: number;
  state: 'waiting' | 'late' | 'over';
}
type Place = ListElement<Waiting>;

/**
 * Requests with the same limit, in the order of their arrival, which is the order of their deadlines. One timer stands
 * for all of them; it looks a few times a second and rests when there is nothing to look at. Nearly every request is over long
 * before, and a timer each would cost more than most filters.
 */
class DeadlineQueue {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #metrics: RequestMetrics;
  readonly #queue = new LinkedList<Waiting>();
  #timer: Timer | undefined;

  constructor(limit: number, { clock, metrics }: DeadlineModules) {
    this.#limit = limit;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  add(context: ServerRequestContext): Place {
    const deadline = this.#clock.monotonic() + this.#limit;
    const place = this.#queue.add({ context, deadline, state: 'waiting' });
    if (this.#timer === undefined) this.#arm(this.#limit);
    return place;
  }

  remove(place: Place): void {
    place.remove();
    place.value.state = 'over';
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = this.#clock.after(Math.min(milliseconds, idleMilliseconds), () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let first = this.#queue.first; first !== undefined; first = this.#queue.first) {
      if (first.value.deadline > now) {
        this.#arm(first.value.deadline - now);
        return;
      }
      first.remove();
      this.#overdue(first.value);
    }
  }

  #overdue(waiting: Waiting): void {
    const { context } = waiting;
    waiting.state = 'late';
    this.#metrics.terminated(context, 504);
    context.cancel(
      statusErrors.timeout('request did not complete within requested timeout - context deadline exceeded'),
    );
    this.#clock.after(noticeMilliseconds, () => {
      if (waiting.state !== 'late') return;
      waiting.state = 'over';
      writeStatusError(context, statusErrors.timeout('request did not complete within the allotted timeout'));
    });
  }
}

/** A timeout that cannot be read is refused before anybody asks who is calling (K1.3); zero and less count as none. */
function timeoutOf({ exchange, info }: ServerRequestContext, most: number): number {
  const text = exchange.url.includes('timeout') ? (info.query.get('timeout') ?? '') : '';
  if (text === '') return most;
  let wanted: number;
  try {
    wanted = parseDuration(text);
  } catch (error) {
    throw statusErrors.badRequest(
      `invalid timeout specified in the request URL - time: ${durationProblem(text)}`,
      error,
    );
  }
  return wanted > 0 ? Math.min(wanted, most) : most;
}

const wholeTerms = /^[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))*/;

/** What Go says about a duration that it cannot read. */
function durationProblem(text: string): string {
  const rest = text.slice(wholeTerms.exec(text)?.[0].length ?? 0);
  const [, unit] = /^(?:\d+\.?\d*|\.\d+)([^\d.]*)/.exec(rest) ?? [];
  if (unit === undefined) return `invalid duration ${quote(text)}`;
  if (unit === '') return `missing unit in duration ${quote(text)}`;
  return `unknown unit ${quote(unit)} in duration ${quote(text)}`;
}

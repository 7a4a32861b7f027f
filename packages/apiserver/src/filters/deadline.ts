import { quote, statusErrors } from '@multiplane/apimachinery';
import { parseDuration, type Clock, type Timer } from '@multiplane/component-base';
import type { RequestInfo } from '../request-info.ts';
import { writeStatusError } from '../responses.ts';
import { isLongRunning, type ServerRequestContext } from '../server-request-context.ts';

export interface DeadlineOptions {
  /** Longest time for a request that is not long-running. */
  readonly requestTimeoutMs: number;
}

/** How long a handler may take to notice the deadline and answer in words of its own. */
const noticeMilliseconds = 100;

type Handler = (context: ServerRequestContext) => Promise<void>;

/**
 * Bounds requests that are not long-running by `?timeout` or the server's limit, whichever is less (K1.3): first the
 * context's signal aborts, so that the handler can answer; then the answer is given for it.
 */
export function withDeadline(options: DeadlineOptions, clock: Clock): (next: Handler) => Handler {
  return (next) => async (context) => {
    const limit = timeoutOf(context.info, options.requestTimeoutMs);
    if (isLongRunning(context.info)) {
      await next(context);
      return;
    }
    let timer: Timer = clock.after(limit, () => {
      context.cancel(
        statusErrors.timeout('request did not complete within requested timeout - context deadline exceeded'),
      );
      timer = clock.after(noticeMilliseconds, () => {
        writeStatusError(context, statusErrors.timeout('request did not complete within the allotted timeout'));
      });
    });
    try {
      await next(context);
    } finally {
      timer.cancel();
    }
  };
}

/** A timeout that cannot be read is refused before anybody asks who is calling (K1.3); zero and less count as none. */
function timeoutOf(info: RequestInfo, most: number): number {
  const text = info.query.get('timeout');
  if (text === null || text === '') return most;
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

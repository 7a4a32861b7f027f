import type { Runnable } from '../lifecycle/runnable.ts';
import type { Span, SpanAttributes } from './span.ts';

export interface TracedRequest {
  readonly name: string;
  /** Milliseconds since the epoch; absent: now. */
  readonly startedAt: number | undefined;
  /** `traceparent` and `tracestate` as received. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /**
   * Whether the caller may continue its trace here. Of other callers the span is the root of a new trace, sampled at the
   * configured rate and linked to theirs: otherwise every tenant could have all of its requests recorded.
   */
  readonly isTrusted: boolean;
  readonly attributes: SpanAttributes;
}

/** Starts the spans of requests, and exports them and their children while it runs. */
export interface Tracer extends Runnable {
  startRequest(request: TracedRequest): Span;
}

import { AsyncLocalStorage } from 'node:async_hooks';

/** Names and values of attributes. They never contain bodies, credentials, names of objects or users. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A step of a request, in the trace of that request. */
export interface Span {
  /** False for a request that is not sampled: its span only carries the decision to the next server. */
  readonly isRecording: boolean;
  /** W3C Trace Context of a request that is made during this span: header names and values in turn. */
  readonly headers: readonly string[];
  /** A span within this one. */
  child(name: string, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** `failed`: the step failed; the reason is not recorded, because error texts quote objects. */
  end(options?: { readonly failed?: boolean }): void;
}

/** The span of the request by asynchronous context. Empty, and a lookup of some nanoseconds, while tracing is off. */
const spans = new AsyncLocalStorage<Span>();
const noHeaders: readonly string[] = [];

/** The span of the request in progress, also of one that is not sampled, for a server that continues it in this process. */
export function currentSpan(): Span | undefined {
  return spans.getStore();
}

/** Trace context for a request to another server; empty while tracing is off. */
export function traceHeaders(): readonly string[] {
  return spans.getStore()?.headers ?? noHeaders;
}

/** Runs a step of a sampled request as a span of its own; runs it as it is otherwise. */
export function traced<T>(name: string, run: () => T, attributes?: SpanAttributes): T {
  const parent = spans.getStore();
  if (parent?.isRecording !== true) return run();
  return runAndEnd(parent.child(name, attributes), run);
}

/** Runs `run` within a span and ends the span with it. */
export function runAndEnd<T>(span: Span, run: () => T): T {
  let result: T;
  try {
    result = spans.run(span, run);
  } catch (error) {
    span.end({ failed: true });
    throw error;
  }
  if (!(result instanceof Promise)) {
    span.end();
    return result;
  }
  return result.then(
    (value: unknown) => {
      span.end();
      return value;
    },
    (error: unknown) => {
      span.end({ failed: true });
      throw error;
    },
  ) as T;
}

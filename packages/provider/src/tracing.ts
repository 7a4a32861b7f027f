import { context, propagation, SpanStatusCode, trace, type Context, type Span as ApiSpan } from '@opentelemetry/api';
import { runAndEnd, type Span, type SpanAttributes } from '@multiplane/component-base';

/** A span of the SDK that the program has registered, in the form whose headers every request carries. */
class RegisteredSpan implements Span {
  readonly #span: ApiSpan;
  readonly #context: Context;
  readonly headers: readonly string[];

  constructor(name: string, attributes: SpanAttributes, parent: Context) {
    this.#span = trace.getTracer('@multiplane/provider').startSpan(name, { attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
    const carrier: Record<string, string> = {};
    propagation.inject(this.#context, carrier);
    this.headers = Object.entries(carrier).flat();
  }

  get isRecording(): boolean {
    return this.#span.isRecording();
  }

  /** Runs `run` as the active span of the SDK, too, so that spans of the program's own are within it. */
  run<T>(run: () => T): T {
    return context.with(this.#context, () => runAndEnd(this, run));
  }

  child(name: string, attributes: SpanAttributes = {}): Span {
    return new RegisteredSpan(name, attributes, this.#context);
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  end({ failed = false }: { readonly failed?: boolean } = {}): void {
    if (failed) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}

/** Runs a pass as a span; without a registered SDK it runs as it is. */
export function tracedPass<T>(attributes: SpanAttributes, run: () => Promise<T>): Promise<T> {
  return new RegisteredSpan('reconcile', attributes, context.active()).run(run);
}

import {
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OpenTelemetrySpan,
  type SpanContext,
  type Tracer as OpenTelemetryTracerApi,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TracerProvider,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Span, SpanAttributes } from './span.ts';
import type { TracedRequest, Tracer } from './tracer.ts';
import type { TracingConfiguration } from './tracing-configuration.ts';

export interface OpenTelemetryTracerOptions extends TracingConfiguration {
  /** `service.name` of the exported spans. */
  readonly service: string;
  readonly version: string;
}

/** Spans that wait for export; further ones are dropped, so that a slow collector costs no memory. */
const maxQueuedSpans = 4_096;
const exportIntervalMs = 1_000;
const exportTimeoutMs = 5_000;
const attributeLength = 256;
const maxStateLength = 512;

/**
 * {@link Tracer} over OpenTelemetry: OTLP over gRPC, as the Kubernetes components. No global provider is registered, so two
 * servers in one process have a tracer each. Import this module only when tracing is on: it takes some MiB.
 */
export class OpenTelemetryTracer implements Tracer {
  readonly name = 'tracing';
  readonly #provider: TracerProvider;
  readonly #tracer: OpenTelemetryTracerApi;

  constructor({ endpoint, samplingRatePerMillion, service, version }: OpenTelemetryTracerOptions) {
    const url = endpoint.includes('//') ? endpoint : `http://${endpoint}`;
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': service, 'service.version': version }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(samplingRatePerMillion / 1_000_000) }),
      spanLimits: { attributeValueLengthLimit: attributeLength, linkCountLimit: 1 },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new OTLPTraceExporter({ url, timeoutMillis: exportTimeoutMs }),
          maxQueueSize: maxQueuedSpans,
          scheduledDelayMillis: exportIntervalMs,
          exportTimeoutMillis: exportTimeoutMs,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('multiplane', version);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Exports what is queued; a collector that does not respond delays this by some seconds. */
  async stop(): Promise<void> {
    await this.#provider.shutdown().catch(() => {});
  }

  startRequest({ name, startedAt, traceparent, tracestate, isTrusted, attributes }: TracedRequest): Span {
    const remote = parseTraceparent(traceparent, tracestate);
    const parent = remote !== undefined && isTrusted ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
    const span = this.#tracer.startSpan(
      name,
      {
        kind: SpanKind.SERVER,
        attributes,
        ...(startedAt === undefined ? {} : { startTime: startedAt }),
        ...(remote === undefined || isTrusted ? {} : { links: [{ context: remote }] }),
      },
      parent,
    );
    return new RecordedSpan(span, this.#tracer, parent);
  }
}

class RecordedSpan implements Span {
  readonly #span: OpenTelemetrySpan;
  readonly #tracer: OpenTelemetryTracerApi;
  readonly #parent: Context;
  #headers: readonly string[] | undefined;

  constructor(span: OpenTelemetrySpan, tracer: OpenTelemetryTracerApi, parent: Context) {
    this.#span = span;
    this.#tracer = tracer;
    this.#parent = parent;
  }

  get isRecording(): boolean {
    return this.#span.isRecording();
  }

  get headers(): readonly string[] {
    this.#headers ??= headersOf(this.#span.spanContext());
    return this.#headers;
  }

  child(name: string, attributes?: SpanAttributes): Span {
    const parent = trace.setSpan(this.#parent, this.#span);
    return new RecordedSpan(
      this.#tracer.startSpan(name, attributes === undefined ? {} : { attributes }, parent),
      this.#tracer,
      parent,
    );
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  end({ failed = false }: { readonly failed?: boolean } = {}): void {
    if (failed) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}

function headersOf(context: SpanContext): readonly string[] {
  if (!isSpanContextValid(context)) return [];
  const flags = (context.traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01';
  const state = context.traceState?.serialize() ?? '';
  const parent = `00-${context.traceId}-${context.spanId}-${flags}`;
  return state === '' ? ['traceparent', parent] : ['traceparent', parent, 'tracestate', state];
}

/** W3C Trace Context, version 00 and what later versions append to it; undefined for anything else. */
function parseTraceparent(header: string | undefined, state?: string): SpanContext | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header ?? '');
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(state === undefined || state.length > maxStateLength ? {} : { traceState: createTraceState(state) }),
  };
  return isSpanContextValid(context) ? context : undefined;
}

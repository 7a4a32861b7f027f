import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A span as an OpenTelemetry collector receives it. Ids are in hexadecimal digits. */
export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Traces that it is linked to. */
  readonly links: readonly string[];
}

/** Receives OTLP over gRPC on loopback (opentelemetry-proto, `collector/trace/v1`) and keeps the spans. */
export class TraceCollector implements AsyncDisposable {
  readonly #server: Http2Server;
  readonly #sessions = new Set<{ destroy(): void }>();
  readonly spans: CollectedSpan[] = [];

  private constructor() {
    this.#server = createServer();
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream) => void this.#receive(stream));
  }

  static async start(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  /** As `endpoint` of a TracingConfiguration. */
  get endpoint(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The spans of a trace. */
  trace(traceId: string): readonly CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async #receive(stream: ServerHttp2Stream): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    // A flag and the length precede the message.
    this.spans.push(...spansOf(Buffer.concat(chunks).subarray(5)));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

type Fields = ReadonlyMap<number, readonly Buffer[]>;

/** The length-delimited fields of a protobuf message; all others are skipped. */
function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const type = tag % 8;
    if (type === 0) varint();
    else if (type === 1) at += 8;
    else if (type === 5) at += 4;
    else {
      const length = varint();
      const number = Math.floor(tag / 8);
      const values = fields.get(number) ?? [];
      values.push(message.subarray(at, at + length));
      fields.set(number, values);
      at += length;
    }
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] => (fields.get(number) ?? []).map(fieldsOf);
const text = (fields: Fields, number: number): string => fields.get(number)?.[0]?.toString() ?? '';
const hex = (fields: Fields, number: number): string => fields.get(number)?.[0]?.toString('hex') ?? '';

/** KeyValue messages; values that are no strings are left out. */
const attributesOf = (fields: Fields, number: number): Record<string, string> =>
  Object.fromEntries(
    messages(fields, number).map((pair) => [text(pair, 1), messages(pair, 2).map((value) => text(value, 1))[0] ?? '']),
  );

function spansOf(request: Buffer): CollectedSpan[] {
  return messages(fieldsOf(request), 1).flatMap((resourceSpans) => {
    const service = messages(resourceSpans, 1).map((resource) => attributesOf(resource, 1)['service.name'])[0] ?? '';
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => ({
        service,
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        name: text(span, 5),
        attributes: attributesOf(span, 9),
        links: messages(span, 13).map((link) => hex(link, 1)),
      })),
    );
  });
}

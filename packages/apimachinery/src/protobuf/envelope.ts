import { ProtobufError } from './protobuf-error.ts';
import { WireReader, wireBytes } from './wire-reader.ts';
import { WireWriter } from './wire-writer.ts';

/** What stands before every object in protocol buffers: `k8s` and a zero byte. */
const prefix = [0x6b, 0x38, 0x73, 0x00] as const;

/** An object before its kind is known: runtime.Unknown. Texts are empty where the sender left them out. */
export interface ProtobufEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** Stands at the beginning of the message itself, its limit at the end. */
  readonly message: WireReader;
}

/** Opens the envelope around an object. Throws {@link ProtobufError} with the texts of Kubernetes' decoder. */
export function readProtobufEnvelope(body: Buffer): ProtobufEnvelope {
  if (body.length === 0) throw new ProtobufError('empty data');
  if (body[0] !== prefix[0] || body[1] !== prefix[1] || body[2] !== prefix[2] || body[3] !== prefix[3]) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${prefix.join(' ')}]`,
    );
  }
  if (body.length === prefix.length) throw new ProtobufError('empty body');
  const reader = new WireReader(body, prefix.length);
  const envelope = { apiVersion: '', kind: '', message: reader };
  let start = body.length;
  let end = body.length;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    switch (reader.field) {
      case 1:
        if (wireType !== wireBytes) throw wrongWireType('TypeMeta', wireType);
        readTypeMeta(reader, envelope);
        break;
      case 2:
        if (wireType !== wireBytes) throw wrongWireType('Raw', wireType);
        end = reader.end();
        start = reader.position;
        reader.position = end;
        break;
      default:
        skipUnknown(reader, wireType, 'Unknown');
    }
  }
  reader.position = start;
  reader.limit = end;
  return envelope;
}

function readTypeMeta(reader: WireReader, envelope: { apiVersion: string; kind: string }): void {
  const outer = reader.limit;
  reader.limit = reader.end();
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    switch (reader.field) {
      case 1:
        if (wireType !== wireBytes) throw wrongWireType('APIVersion', wireType);
        envelope.apiVersion = reader.name(reader.end());
        break;
      case 2:
        if (wireType !== wireBytes) throw wrongWireType('Kind', wireType);
        envelope.kind = reader.name(reader.end());
        break;
      default:
        skipUnknown(reader, wireType, 'TypeMeta');
    }
  }
  reader.limit = outer;
}

function skipUnknown(reader: WireReader, wireType: number, message: string): void {
  if (reader.field <= 0) {
    throw new ProtobufError(`proto: ${message}: illegal tag ${reader.field} (wire type ${wireType})`);
  }
  reader.skip(wireType);
}

const wrongWireType = (field: string, wireType: number): ProtobufError =>
  new ProtobufError(`proto: wrong wireType = ${wireType} for field ${field}`);

/** What stands after the message in an envelope: that it is neither compressed nor of another content type. */
export const protobufEnvelopeTail: Buffer = Buffer.from([0x1a, 0x00, 0x22, 0x00]);

/** What stands before a message of `length` bytes in an envelope. */
export function protobufEnvelopeHead(apiVersion: string, kind: string, length: number): Buffer {
  const writer = new WireWriter(64);
  writer.uint(length);
  writer.tag(2, wireBytes);
  const before = writer.length;
  for (const [number, text] of [
    [2, kind],
    [1, apiVersion],
  ] as const) {
    const start = writer.length;
    writer.text(text);
    writer.delimit(number, start);
  }
  writer.delimit(1, before);
  for (const byte of prefix.toReversed()) writer.uint(byte);
  return writer.finish();
}

/** One entry of the log: what a revision did to which key. The value stands in `current` or `versions`. */
export interface LogRecord {
  readonly kind: LogKind;
  /** Revision of the value that was there before; 0 when there was none. */
  readonly previous: number;
  readonly key: string;
}

export type LogKind = 'create' | 'update' | 'delete';

const kinds: readonly LogKind[] = ['create', 'update', 'delete'];
const headBytes = 9;

export function encodeLogRecord({ kind, previous, key }: LogRecord): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + Buffer.byteLength(key));
  bytes[0] = kinds.indexOf(kind);
  bytes.writeDoubleBE(previous, 1);
  bytes.write(key, headBytes);
  return bytes;
}

export function decodeLogRecord(bytes: Buffer): LogRecord {
  const kind = kinds[bytes[0] ?? kinds.length];
  if (kind === undefined) throw new TypeError('not an entry of the log');
  return { kind, previous: bytes.readDoubleBE(1), key: bytes.toString('utf8', headBytes) };
}

import { crc32 } from 'node:zlib';
import type { Segment } from './segment.ts';

/**
 * The content of segments: one record per revision, and records that say which history was compacted.
 *
 *   0  u32  CRC-32 of the following bytes, seeded with the salt of the store
 *   4  u32  number of the write that it belongs to
 *   8  u32  bytes from the start of this record to the end of that write
 *  12  u32  length of the value
 *  16  u16  length of the key
 *  18  u8   kind
 *  19  u8   marker
 *  20  f64  revision
 *  28  f64  expiry time in milliseconds since the epoch; 0: never
 *  36       key, value
 *
 * A write is what one commit appends; it is durable before the next one starts. So after a crash the first record that is
 * not intact must belong to the last write; an intact record of a later write after it proves that acknowledged data was
 * lost. The salt is random, so that no value can be crafted to look like a record.
 */
export type RecordKind = 'create' | 'update' | 'delete' | 'compact';

const kinds: readonly RecordKind[] = ['create', 'update', 'delete', 'compact'];
export const recordHeaderBytes = 36;
const marker = 0xa7;
/** Far longer than any valid object key. */
export const maxKeyBytes = 1900;
/** Far larger than any value; a larger length field is damage. */
const maxValueBytes = 1 << 30;

export interface RecordHeader {
  readonly kind: RecordKind;
  readonly write: number;
  /** Bytes to the end of the write, including this record. */
  readonly remainingBytes: number;
  readonly keyBytes: number;
  readonly valueBytes: number;
  readonly revision: number;
  readonly expiresAt: number | undefined;
}

/**
 * A live record. Current versions are in the index, replaced ones and deletes in the history. Segment compaction changes
 * its position; everything else is immutable.
 */
export interface Entry {
  readonly key: string;
  readonly kind: RecordKind;
  readonly revision: number;
  readonly expiresAt: number | undefined;
  /** Length of the whole record. */
  readonly bytes: number;
  segment: Segment;
  offset: number;
  /** Nothing references the record any more. */
  dead: boolean;
}

export interface NewRecord {
  readonly kind: RecordKind;
  readonly key: string;
  readonly value: Buffer;
  readonly revision: number;
  readonly expiresAt: number | undefined;
}

export function recordBytes({ key, value }: NewRecord): number {
  return recordHeaderBytes + Buffer.byteLength(key) + value.length;
}

/** Encodes one write. */
export function encodeWrite(records: readonly NewRecord[], write: number, salt: number): Buffer {
  let total = 0;
  for (const record of records) total += recordBytes(record);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (const { kind, key, value, revision, expiresAt } of records) {
    const keyBytes = bytes.write(key, at + recordHeaderBytes, 'utf8');
    const end = at + recordHeaderBytes + keyBytes + value.length;
    value.copy(bytes, at + recordHeaderBytes + keyBytes);
    bytes.writeUInt32LE(write, at + 4);
    bytes.writeUInt32LE(total - at, at + 8);
    bytes.writeUInt32LE(value.length, at + 12);
    bytes.writeUInt16LE(keyBytes, at + 16);
    bytes[at + 18] = kinds.indexOf(kind);
    bytes[at + 19] = marker;
    bytes.writeDoubleLE(revision, at + 20);
    bytes.writeDoubleLE(expiresAt ?? 0, at + 28);
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 4, end), salt), at);
    at = end;
  }
  return bytes;
}

/** The header at an offset if it is plausible; its record may still be damaged. */
export function readRecordHeader(bytes: Buffer, at: number): RecordHeader | undefined {
  if (at + recordHeaderBytes > bytes.length || bytes[at + 19] !== marker) return undefined;
  const kind = kinds[bytes[at + 18] as number];
  const keyBytes = bytes.readUInt16LE(at + 16);
  const valueBytes = bytes.readUInt32LE(at + 12);
  const revision = bytes.readDoubleLE(at + 20);
  if (kind === undefined || keyBytes > maxKeyBytes || valueBytes > maxValueBytes) return undefined;
  if (!Number.isSafeInteger(revision) || revision < 0) return undefined;
  const expiresAt = bytes.readDoubleLE(at + 28);
  return {
    kind,
    write: bytes.readUInt32LE(at + 4),
    remainingBytes: bytes.readUInt32LE(at + 8),
    keyBytes,
    valueBytes,
    revision,
    expiresAt: expiresAt === 0 ? undefined : expiresAt,
  };
}

export function recordLength({ keyBytes, valueBytes }: RecordHeader): number {
  return recordHeaderBytes + keyBytes + valueBytes;
}

/** True when the record at the offset is complete and its checksum matches. */
export function isIntact(bytes: Buffer, at: number, length: number, salt: number): boolean {
  return at + length <= bytes.length && crc32(bytes.subarray(at + 4, at + length), salt) === bytes.readUInt32LE(at);
}

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
 *  19  u8   marker: the version of the record
 *  20  f64  revision
 *  28  f64  expiry time in milliseconds since the epoch; 0: never
 *  36       key, value
 *
 * Version 2, which is only written when the number of the write needs more than 32 bits, so that earlier programs read
 * every other store, differs in
 *
 *   4  u32  low 32 bits of the number of the write
 *  28  u48  expiry time in whole milliseconds, rounded up; 0: never
 *  34  u16  high 16 bits of the number of the write
 *
 * A write is what one commit appends; it is durable before the next one starts. So after a crash the first record that is
 * not intact must belong to the last write; an intact record of a later write after it proves that acknowledged data was
 * lost. The salt is random, so that no value can be crafted to look like a record.
 */
export type RecordKind = 'create' | 'update' | 'delete' | 'compact';

const kinds: readonly RecordKind[] = ['create', 'update', 'delete', 'compact'];
export const recordHeaderBytes = 36;
const marker = 0xa7;
const wideMarker = 0xa8;
const maxNarrowWrite = 2 ** 32 - 1;
/** At 10,000 writes a second it lasts for 890 years. */
const maxWrite = 2 ** 48 - 1;
const maxWideExpiry = 2 ** 48 - 1;
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

/** Encodes one write. Throws RangeError beyond 2^48 writes. */
export function encodeWrite(records: readonly NewRecord[], write: number, salt: number): Buffer {
  if (write > maxWrite) throw new RangeError(`the number of a write has 48 bits: ${write}`);
  const isWide = write > maxNarrowWrite;
  let total = 0;
  for (const record of records) total += recordBytes(record);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (const { kind, key, value, revision, expiresAt } of records) {
    const keyBytes = bytes.write(key, at + recordHeaderBytes, 'utf8');
    const end = at + recordHeaderBytes + keyBytes + value.length;
    value.copy(bytes, at + recordHeaderBytes + keyBytes);
    bytes.writeUInt32LE(write % 2 ** 32, at + 4);
    bytes.writeUInt32LE(total - at, at + 8);
    bytes.writeUInt32LE(value.length, at + 12);
    bytes.writeUInt16LE(keyBytes, at + 16);
    bytes[at + 18] = kinds.indexOf(kind);
    bytes[at + 19] = isWide ? wideMarker : marker;
    bytes.writeDoubleLE(revision, at + 20);
    if (isWide) {
      bytes.writeUIntLE(Math.min(Math.ceil(expiresAt ?? 0), maxWideExpiry), at + 28, 6);
      bytes.writeUInt16LE(Math.floor(write / 2 ** 32), at + 34);
    } else bytes.writeDoubleLE(expiresAt ?? 0, at + 28);
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 4, end), salt), at);
    at = end;
  }
  return bytes;
}

/** The header at an offset if it is plausible; its record may still be damaged. */
export function readRecordHeader(bytes: Buffer, at: number): RecordHeader | undefined {
  if (at + recordHeaderBytes > bytes.length) return undefined;
  const isWide = bytes[at + 19] === wideMarker;
  if (!isWide && bytes[at + 19] !== marker) return undefined;
  const kind = kinds[bytes[at + 18] as number];
  const keyBytes = bytes.readUInt16LE(at + 16);
  const valueBytes = bytes.readUInt32LE(at + 12);
  const revision = bytes.readDoubleLE(at + 20);
  if (kind === undefined || keyBytes > maxKeyBytes || valueBytes > maxValueBytes) return undefined;
  if (!Number.isSafeInteger(revision) || revision < 0) return undefined;
  const expiresAt = isWide ? bytes.readUIntLE(at + 28, 6) : bytes.readDoubleLE(at + 28);
  return {
    kind,
    write: bytes.readUInt32LE(at + 4) + (isWide ? bytes.readUInt16LE(at + 34) * 2 ** 32 : 0),
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

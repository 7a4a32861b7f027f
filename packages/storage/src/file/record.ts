import { crc32 } from 'node:zlib';
import type { Segment } from './segment.ts';

/**
 * What stands in the files: one record per revision, and now and then one that says which history was forgotten.
 *
 *   0  u32  CRC-32 of all that follows, begun with the salt of the store
 *   4  u32  number of the write it was part of
 *   8  u32  bytes from the beginning of this record to the end of that write
 *  12  u32  length of the value
 *  16  u16  length of the key
 *  18  u8   kind
 *  19  u8   mark
 *  20  f64  revision
 *  28  f64  when the key goes, milliseconds since the epoch; 0: never
 *  36       key, value
 *
 * A write is what one commit appends: it is on disk as a whole before the next one begins. So after a crash the first
 * record that is not whole must lie in the last write; a whole record of a later write behind it shows that something
 * was lost that had been there. The salt is random, so that no value can be made to look like a record.
 */
export type RecordKind = 'create' | 'update' | 'delete' | 'compact';

const kinds: readonly RecordKind[] = ['create', 'update', 'delete', 'compact'];
export const headBytes = 36;
const mark = 0xa7;
/** Far beyond any name. */
export const maxKeyBytes = 1900;
/** No value is near it; a length beyond is not a length. */
const maxValueBytes = 1 << 30;

export interface RecordHead {
  readonly kind: RecordKind;
  readonly write: number;
  /** Bytes to the end of the write, this record included. */
  readonly left: number;
  readonly keyBytes: number;
  readonly valueBytes: number;
  readonly revision: number;
  readonly expiresAt: number | undefined;
}

/**
 * A record that somebody may still want. Current values hang in the index, replaced ones and removals in the history; the
 * place changes when the files are merged, everything else never.
 */
export interface Entry {
  readonly key: string;
  readonly kind: RecordKind;
  readonly revision: number;
  readonly expiresAt: number | undefined;
  /** Of the whole record. */
  readonly bytes: number;
  segment: Segment;
  offset: number;
  /** Nobody can ask for it any more. */
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
  return headBytes + Buffer.byteLength(key) + value.length;
}

/** The bytes of one write. */
export function encodeWrite(records: readonly NewRecord[], write: number, salt: number): Buffer {
  let total = 0;
  for (const record of records) total += recordBytes(record);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (const { kind, key, value, revision, expiresAt } of records) {
    const keyBytes = bytes.write(key, at + headBytes, 'utf8');
    const end = at + headBytes + keyBytes + value.length;
    value.copy(bytes, at + headBytes + keyBytes);
    bytes.writeUInt32LE(write, at + 4);
    bytes.writeUInt32LE(total - at, at + 8);
    bytes.writeUInt32LE(value.length, at + 12);
    bytes.writeUInt16LE(keyBytes, at + 16);
    bytes[at + 18] = kinds.indexOf(kind);
    bytes[at + 19] = mark;
    bytes.writeDoubleLE(revision, at + 20);
    bytes.writeDoubleLE(expiresAt ?? 0, at + 28);
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 4, end), salt), at);
    at = end;
  }
  return bytes;
}

/** The head at a place, when it can be one; its record may still not be whole. */
export function readHead(bytes: Buffer, at: number): RecordHead | undefined {
  if (at + headBytes > bytes.length || bytes[at + 19] !== mark) return undefined;
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
    left: bytes.readUInt32LE(at + 8),
    keyBytes,
    valueBytes,
    revision,
    expiresAt: expiresAt === 0 ? undefined : expiresAt,
  };
}

export function lengthOf({ keyBytes, valueBytes }: RecordHead): number {
  return headBytes + keyBytes + valueBytes;
}

/** True when the record that begins there is whole and unchanged. */
export function isWhole(bytes: Buffer, at: number, length: number, salt: number): boolean {
  return at + length <= bytes.length && crc32(bytes.subarray(at + 4, at + length), salt) === bytes.readUInt32LE(at);
}

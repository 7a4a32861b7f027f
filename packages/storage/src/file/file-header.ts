import { crc32 } from 'node:zlib';

/** The header of every segment. */
export interface FileHeader {
  readonly kind: 'base' | 'log';
  readonly id: number;
  /** Base: the last revision that it covers. Log: the last revision before it. */
  readonly revision: number;
  /** Base: the history after this revision is in it and in the following logs. Log: not used. */
  readonly oldest: number;
  /** Base: its length in bytes. Log: not used, since it grows. */
  readonly size: number;
  /** Equal in all segments of a store. */
  readonly salt: number;
}

export const fileHeaderBytes = 64;
const magic = 'MPSTORE';
/** Version of the layout; a program refuses data of other versions. */
export const format = 2;

export function encodeFileHeader({ kind, id, revision, oldest, size, salt }: FileHeader): Buffer {
  const bytes = Buffer.alloc(fileHeaderBytes);
  bytes.write(magic, 4, 'latin1');
  bytes[11] = kind === 'base' ? 1 : 2;
  bytes.writeUInt32LE(format, 12);
  bytes.writeDoubleLE(id, 16);
  bytes.writeDoubleLE(revision, 24);
  bytes.writeDoubleLE(oldest, 32);
  bytes.writeDoubleLE(size, 40);
  bytes.writeUInt32LE(salt, 48);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Whether bytes may be the beginning of a segment header. */
export const isHeaderPart = (bytes: Buffer): boolean =>
  magic.startsWith(bytes.toString('latin1', 4, Math.min(bytes.length, 4 + magic.length)));

/** Undefined when it is not a segment header; `format` when it has another version. */
export function decodeFileHeader(bytes: Buffer): FileHeader | { readonly format: number } | undefined {
  if (bytes.length < fileHeaderBytes || bytes.toString('latin1', 4, 4 + magic.length) !== magic) return undefined;
  const found = bytes.readUInt32LE(12);
  if (found !== format) return { format: found };
  if (crc32(bytes.subarray(4, fileHeaderBytes)) !== bytes.readUInt32LE(0)) return undefined;
  return {
    kind: bytes[11] === 1 ? 'base' : 'log',
    id: bytes.readDoubleLE(16),
    revision: bytes.readDoubleLE(24),
    oldest: bytes.readDoubleLE(32),
    size: bytes.readDoubleLE(40),
    salt: bytes.readUInt32LE(48),
  };
}

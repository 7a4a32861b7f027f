import { isUtf8 } from 'node:buffer';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  isIntact,
  maxKeyBytes,
  type RecordHeader,
  recordHeaderBytes,
  recordLength,
  readRecordHeader,
} from './record.ts';
import type { Segment } from './segment.ts';

/** A record whose checksum does not match, with what its header says. */
export interface DamagedRecord {
  readonly header: RecordHeader;
  readonly key: string;
  readonly offset: number;
  readonly bytes: number;
}

/** Bytes of a segment that hold no intact record. */
export interface DamagedRange {
  readonly offset: number;
  /** The next intact record starts here, or the segment ends. */
  readonly end: number;
  /** The header of the next intact record. */
  readonly next: RecordHeader | undefined;
  /** The records in the range; undefined when their headers are damaged, too. */
  readonly records: readonly DamagedRecord[] | undefined;
}

/** Bytes that are searched at a time for the next intact record. */
const chunkBytes = 4 << 20;

/**
 * Determines what is lost at an offset where no intact record starts.
 *
 * When headers are intact and only keys or values are damaged, each header gives the position of the next record: the
 * chain of headers must end exactly at an intact record or at `stop`, otherwise a length is wrong and the range is searched
 * byte by byte for the next intact record. Whether a key of the chain can be trusted is decided by the replay, which knows
 * the other records of the key (full-replay.ts).
 *
 * @param stop - end of the acknowledged bytes, or of the segment
 * @param size - end of the segment
 */
export async function findDamagedRange(
  segment: Segment,
  { offset, stop, size, salt }: { offset: number; stop: number; size: number; salt: number },
): Promise<DamagedRange> {
  const records: DamagedRecord[] = [];
  for (let at = offset; ;) {
    if (at === size) return { offset, end: at, next: undefined, records };
    const head = await segment.read(at, Math.min(recordHeaderBytes + maxKeyBytes, size - at));
    const header = readRecordHeader(head, 0);
    const bytes = header === undefined ? Infinity : recordLength(header);
    const fits = header !== undefined && at + bytes <= size;
    if (fits && isIntact(await segment.read(at, bytes), 0, bytes, salt))
      return { offset, end: at, next: header, records };
    if (at === stop) return { offset, end: at, next: undefined, records };
    const key = fits ? keyOf(head, header) : undefined;
    if (!fits || key === undefined) break;
    records.push({ header, key, offset: at, bytes });
    at += bytes;
  }
  const found = await nextIntactRecord(segment, { from: offset + 1, size, salt });
  const [end, next] = found === undefined ? [stop, undefined] : [found.offset, found.header];
  return { offset, end, next, records: undefined };
}

/** The first intact record at or after an offset, whose header satisfies the condition. */
export async function nextIntactRecord(
  segment: Segment,
  { from, size, salt }: { from: number; size: number; salt: number },
  isWanted: (header: RecordHeader) => boolean = () => true,
): Promise<{ readonly offset: number; readonly header: RecordHeader } | undefined> {
  for (let at = from; at < size; at += chunkBytes) {
    const bytes = await segment.read(at, Math.min(2 * chunkBytes, size - at));
    for (let i = 0; i < Math.min(bytes.length, chunkBytes); i++) {
      const header = readRecordHeader(bytes, i);
      if (header !== undefined && isWanted(header) && isIntact(bytes, i, recordLength(header), salt))
        return { offset: at + i, header };
    }
    await yieldToEventLoop();
  }
  return undefined;
}

function keyOf(bytes: Buffer, { keyBytes }: RecordHeader): string | undefined {
  const key = bytes.subarray(recordHeaderBytes, recordHeaderBytes + keyBytes);
  return key.length === keyBytes && isUtf8(key) ? key.toString('utf8') : undefined;
}

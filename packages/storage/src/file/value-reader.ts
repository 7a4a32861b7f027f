import { StorageUnavailableError } from '../errors.ts';
import type { StoredValue } from '../interface.ts';
import { type Entry, recordHeaderBytes, isIntact, readRecordHeader } from './record.ts';
import type { Segment } from './segment.ts';

/** Records with smaller gaps between them are read together, up to `readBytes` at a time. */
const gapBytes = 16 << 10;
const readBytes = 1 << 20;
/** Maximum number of concurrent reads. */
const parallel = 4;

/** An entry and its position at the start of the read; segment compaction may move the record meanwhile. */
interface ReadTarget {
  readonly index: number;
  readonly entry: Entry;
  readonly segment: Segment;
  readonly offset: number;
}

/** Reads values and checks their records. */
export class ValueReader {
  readonly #salt: number;
  readonly #onDamage: () => void;

  /** `onDamage` is called when a record is damaged. */
  constructor(salt: number, onDamage: () => void) {
    this.#salt = salt;
    this.#onDamage = onDamage;
  }

  /** Reads synchronously; the caller holds the segment. */
  readValueSync(entry: Entry): Buffer {
    return this.extractValue(entry.segment.readFromSync(entry.offset, entry.bytes), 0, entry);
  }

  async value(entry: Entry): Promise<Buffer> {
    const { offset, segment } = entry;
    return this.extractValue(await segment.read(offset, entry.bytes), 0, entry);
  }

  /** The values in the order of the entries. Their segments are held open until all are read. */
  async values(entries: readonly Entry[]): Promise<StoredValue[]> {
    const targets = entries.map((entry, index): ReadTarget => ({
      index,
      entry,
      segment: entry.segment,
      offset: entry.offset,
    }));
    const segments = new Set(targets.map((place) => place.segment));
    for (const segment of segments) segment.hold();
    try {
      return await this.#readAll(targets);
    } finally {
      for (const segment of segments) await segment.release();
    }
  }

  async #readAll(targets: readonly ReadTarget[]): Promise<StoredValue[]> {
    const result: StoredValue[] = Array.from({ length: targets.length });
    let begin = 0;
    const worker = async (): Promise<void> => {
      while (begin < targets.length) {
        const first = begin;
        let bytes = 0;
        while (begin < targets.length && bytes < readBytes) bytes += (targets[begin++] as ReadTarget).entry.bytes;
        await this.#readBatch(targets.slice(first, begin), result);
      }
    };
    await Promise.all(Array.from({ length: parallel }, worker));
    return result;
  }

  async #readBatch(targets: ReadTarget[], result: StoredValue[]): Promise<void> {
    targets.sort((a, b) => (a.segment === b.segment ? a.offset - b.offset : a.segment.id - b.segment.id));
    const reads: Promise<void>[] = [];
    for (let i = 0; i < targets.length;) {
      const { segment, offset, entry } = targets[i] as ReadTarget;
      let end = offset + entry.bytes;
      const begin = i++;
      for (; i < targets.length; i++) {
        const next = targets[i] as ReadTarget;
        if (next.segment !== segment || next.offset > end + gapBytes) break;
        end = next.offset + next.entry.bytes;
      }
      reads.push(this.#readRun(targets.slice(begin, i), end, result));
    }
    await Promise.all(reads);
  }

  async #readRun(run: readonly ReadTarget[], end: number, result: StoredValue[]): Promise<void> {
    const { segment, offset: begin } = run[0] as ReadTarget;
    const bytes = await segment.read(begin, end - begin);
    for (const { index, entry, offset } of run) {
      const value = this.extractValue(bytes, offset - begin, entry);
      // Copied, so that a value that outlives its neighbours does not retain their memory.
      result[index] = {
        key: entry.key,
        value: run.length === 1 ? value : Buffer.from(value),
        revision: entry.revision,
      };
    }
  }

  /** The value of an entry from bytes that contain its record at an offset. */
  extractValue(bytes: Buffer, at: number, entry: Entry): Buffer {
    const header = readRecordHeader(bytes, at);
    if (header?.revision !== entry.revision || !isIntact(bytes, at, entry.bytes, this.#salt)) {
      this.#onDamage();
      throw new StorageUnavailableError(
        `damaged record of ${entry.key} in ${entry.segment.path} at offset ${entry.offset}`,
      );
    }
    return bytes.subarray(at + recordHeaderBytes + header.keyBytes, at + entry.bytes);
  }
}

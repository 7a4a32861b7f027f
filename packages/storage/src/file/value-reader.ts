import { StorageUnavailableError } from '../errors.ts';
import type { StoredValue } from '../interface.ts';
import { type Entry, headBytes, isWhole, readHead } from './record.ts';
import type { Segment } from './segment.ts';

/** Records that stand so close are read together, up to so much at a time. */
const gapBytes = 16 << 10;
const readBytes = 1 << 20;
/** Reads under way at once. */
const parallel = 4;

/** An entry, and where it stood when it was asked for: a merge may move it during the read. */
interface Place {
  readonly index: number;
  readonly entry: Entry;
  readonly segment: Segment;
  readonly offset: number;
}

/** Reads and checks values. */
export class ValueReader {
  readonly #salt: number;
  readonly #onDamage: () => void;

  /** `onDamage` is told when a record is not what was written. */
  constructor(salt: number, onDamage: () => void) {
    this.#salt = salt;
    this.#onDamage = onDamage;
  }

  /** In this turn; the file of the entry is held open. */
  valueNow(entry: Entry): Buffer {
    return this.cut(entry.segment.readNow(entry.offset, entry.bytes), 0, entry);
  }

  async value(entry: Entry): Promise<Buffer> {
    const { offset, segment } = entry;
    return this.cut(await segment.read(offset, entry.bytes), 0, entry);
  }

  /** The values of entries, in the order of the entries. Files are held open until all are read. */
  async values(entries: readonly Entry[]): Promise<StoredValue[]> {
    const places = entries.map((entry, index): Place => ({
      index,
      entry,
      segment: entry.segment,
      offset: entry.offset,
    }));
    const segments = new Set(places.map((place) => place.segment));
    for (const segment of segments) segment.hold();
    try {
      return await this.#readAll(places);
    } finally {
      for (const segment of segments) await segment.release();
    }
  }

  async #readAll(places: readonly Place[]): Promise<StoredValue[]> {
    const result: StoredValue[] = Array.from({ length: places.length });
    let begin = 0;
    const lane = async (): Promise<void> => {
      while (begin < places.length) {
        const first = begin;
        let bytes = 0;
        while (begin < places.length && bytes < readBytes) bytes += (places[begin++] as Place).entry.bytes;
        await this.#readSome(places.slice(first, begin), result);
      }
    };
    await Promise.all(Array.from({ length: parallel }, lane));
    return result;
  }

  async #readSome(places: Place[], result: StoredValue[]): Promise<void> {
    places.sort((a, b) => (a.segment === b.segment ? a.offset - b.offset : a.segment.id - b.segment.id));
    const reads: Promise<void>[] = [];
    for (let i = 0; i < places.length;) {
      const { segment, offset, entry } = places[i] as Place;
      let end = offset + entry.bytes;
      const begin = i++;
      for (; i < places.length; i++) {
        const next = places[i] as Place;
        if (next.segment !== segment || next.offset > end + gapBytes) break;
        end = next.offset + next.entry.bytes;
      }
      reads.push(this.#readRun(places.slice(begin, i), end, result));
    }
    await Promise.all(reads);
  }

  async #readRun(run: readonly Place[], end: number, result: StoredValue[]): Promise<void> {
    const { segment, offset: begin } = run[0] as Place;
    const bytes = await segment.read(begin, end - begin);
    for (const { index, entry, offset } of run) {
      const value = this.cut(bytes, offset - begin, entry);
      // A value that outlives its neighbours must not keep them in memory.
      result[index] = {
        key: entry.key,
        value: run.length === 1 ? value : Buffer.from(value),
        revision: entry.revision,
      };
    }
  }

  /** The value of an entry out of bytes that hold its record at a place. */
  cut(bytes: Buffer, at: number, entry: Entry): Buffer {
    const head = readHead(bytes, at);
    if (head?.revision !== entry.revision || !isWhole(bytes, at, entry.bytes, this.#salt)) {
      this.#onDamage();
      throw new StorageUnavailableError(
        `the record of ${entry.key} is damaged on disk, in ${entry.segment.path} at ${entry.offset}`,
      );
    }
    return bytes.subarray(at + headBytes + head.keyBytes, at + entry.bytes);
  }
}

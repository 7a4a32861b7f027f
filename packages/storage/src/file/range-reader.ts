import type { Transaction } from 'lmdb';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { ListOptions, ListResult, StoredValue } from '../interface.ts';
import { compareKeys } from '../key-order.ts';
import { afterPrefix, type Entry, type Range, revisionOf, type Tables, type VersionKey } from './tables.ts';

/** Work between two turns of the event loop: keys visited, bytes copied, keys counted. */
const keysPerTurn = 1000;
const bytesPerTurn = 4 << 20;
const countedPerTurn = 50_000;

/** Where a read goes: from a key up to, not including, another. */
interface KeyRange {
  readonly start: string | undefined;
  readonly end: string | undefined;
}

/** One list over one state of the file, however many turns it takes. */
export async function readRange(tables: Tables, prefix: string, options: ListOptions): Promise<ListResult> {
  const { limit = 0, from = '', uncounted = false } = options;
  const first = compareKeys(from, prefix) > 0 ? from : prefix;
  const range: KeyRange = { start: first === '' ? undefined : first, end: afterPrefix(prefix) };
  const transaction = tables.root.useReadTransaction();
  try {
    const number = (name: string): number => tables.meta.getEntry(name, { transaction })?.version ?? 0;
    const current = number('revision');
    const revision = options.revision ?? current;
    if (revision > current) throw new FutureRevisionError(revision, current);
    const oldest = number('oldest');
    if (revision < oldest) throw new CompactedError(revision, oldest);
    const read = new RangeRead(tables, transaction, range, { limit, uncounted });
    if (range.end !== undefined && compareKeys(first, range.end) >= 0) return { items: [], revision, remaining: 0 };
    return revision === current
      ? { items: await read.latest(), revision, remaining: await read.countRest() }
      : { items: await read.at(revision), revision, remaining: read.beyond };
  } finally {
    transaction.done();
  }
}

class RangeRead {
  /** Keys beyond the limit that a read of an older state came across. */
  beyond = 0;
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly #range: KeyRange;
  readonly #limit: number;
  readonly #uncounted: boolean;
  readonly #items: StoredValue[] = [];
  #visited = 0;
  #bytes = 0;

  constructor(
    tables: Tables,
    transaction: Transaction,
    range: KeyRange,
    { limit, uncounted }: { readonly limit: number; readonly uncounted: boolean },
  ) {
    this.#tables = tables;
    this.#transaction = transaction;
    this.#range = range;
    this.#limit = limit;
    this.#uncounted = uncounted;
  }

  async latest(): Promise<StoredValue[]> {
    const entries = this.#tables.current.getRange(this.#options(this.#range.start, true));
    for (const { key, value, version } of entries) {
      this.#items.push({ key, value, revision: revisionOf(version) });
      if (this.#items.length === this.#limit) break;
      if (this.#due(value.length)) await nextTurn();
    }
    return this.#items;
  }

  /**
   * An older state: the current values that are old enough together with the kept ones that were current then. A key has
   * at most one such value, and both tables are in the order of keys, so this is a merge.
   */
  async at(revision: number): Promise<StoredValue[]> {
    const kept = this.#tables.versions.getRange(this.#versionOptions())[Symbol.iterator]();
    try {
      let next = await this.#nextKept(kept, revision);
      for (const { key, value, version } of this.#tables.current.getRange(this.#options(this.#range.start, true))) {
        while (next !== undefined && compareKeys(next.key, key) < 0) {
          this.#take(next);
          next = await this.#nextKept(kept, revision);
        }
        const written = revisionOf(version);
        if (written <= revision) this.#take({ key, value, revision: written });
        if (this.#uncounted && this.beyond > 0) return this.#items;
        if (this.#due(value.length)) await nextTurn();
      }
      for (; next !== undefined; next = await this.#nextKept(kept, revision)) this.#take(next);
      return this.#items;
    } finally {
      kept.return?.();
    }
  }

  /** Keys of the range behind the items that were read. */
  async countRest(): Promise<number> {
    const last = this.#items.at(-1)?.key;
    if (this.#limit === 0 || last === undefined || this.#items.length < this.#limit) return 0;
    if (this.#uncounted) {
      const [next] = this.#tables.current.getKeys({ ...this.#options(last, false), offset: 1, limit: 1 });
      return next === undefined ? 0 : 1;
    }
    let count = 0;
    for (let start = last; ; await nextTurn()) {
      const [step] = this.#tables.current.getKeys({ ...this.#options(start, false), offset: countedPerTurn, limit: 1 });
      if (step === undefined) {
        // The first one was counted before, or is the last item.
        return count + this.#tables.current.getKeysCount(this.#options(start, false)) - 1;
      }
      count += countedPerTurn;
      start = step;
    }
  }

  /** The next kept value that was the current one at a revision. */
  async #nextKept(
    kept: Iterator<Entry & { readonly key: VersionKey }>,
    revision: number,
  ): Promise<StoredValue | undefined> {
    const { start } = this.#range;
    for (let next = kept.next(); next.done !== true; next = kept.next()) {
      const { key, value, version } = next.value;
      if (this.#due(value.length)) await nextTurn();
      if (revision < key.revision || revision >= (version ?? 0)) continue;
      // A start that ends with the NUL of a continuation stands among the versions of the key before.
      if (start === undefined || compareKeys(key.key, start) >= 0) return { ...key, value };
    }
    return undefined;
  }

  #versionOptions(): Range<VersionKey> {
    const { start, end } = this.#range;
    return { start: firstVersion(start), end: firstVersion(end), versions: true, transaction: this.#transaction };
  }

  #take(item: StoredValue): void {
    if (this.#limit === 0 || this.#items.length < this.#limit) this.#items.push(item);
    else this.beyond++;
  }

  /** True when the event loop should have a turn. */
  #due(bytes: number): boolean {
    this.#bytes += bytes;
    if (++this.#visited % keysPerTurn !== 0 && this.#bytes < bytesPerTurn) return false;
    this.#bytes = 0;
    return true;
  }

  #options(start: string | undefined, versions: boolean): Range<string> {
    const { end } = this.#range;
    return { start, end, versions, transaction: this.#transaction };
  }
}

function firstVersion(key: string | undefined): VersionKey | undefined {
  return key === undefined ? undefined : { key, revision: 0 };
}

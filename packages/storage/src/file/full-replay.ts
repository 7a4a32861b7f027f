import { OrderedTree } from '../ordered-tree.ts';
import type { DamagedRecord } from './damaged-range.ts';
import type { Expiry } from './expiry-queue.ts';
import { markDead, type Change, History } from './history.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import { sortByKey } from './sort-by-key.ts';
import { StoreState } from './store-state.ts';

/** Builds the state of a store from the records of its segments. */
export interface RecordReplay {
  /** The replayed segments. */
  readonly segments: Segment[];
  /** The revision of the last replayed record. */
  readonly revision: number;
  add(entry: Entry, keyBytes: number): void;
  /**
   * Leaves out a damaged record: its key does not exist until a later record of it.
   *
   * @param replaces - an update or a delete must have an earlier record of its key; otherwise the key is not trustworthy
   */
  lose(segment: Segment, record: DamagedRecord, replaces: boolean): void;
  /** The replay covers this revision, although compaction may have removed the latest records. */
  advanceTo(revision: number): void;
  /** The history up to a revision is compacted. */
  compactTo(revision: number): void;
  build(): StoreState;
}

/** A damaged record, judged by the other records of its key. */
export interface LostRecord extends DamagedRecord {
  readonly segment: Segment;
  /** The other records of the key agree with the header. Otherwise the key is damaged, and an unknown key has lost its value. */
  readonly trusted: boolean;
  /** A later record of the key is intact, or the record deleted the key: only history is lost. */
  readonly superseded: boolean;
}

interface Lost {
  readonly segment: Segment;
  readonly record: DamagedRecord;
  readonly replaces: boolean;
}

/**
 * Builds the {@link StoreState} from all records: collects them in file order, sorts them once by key, and determines for
 * each run of equal keys the current version, the versions that the history references, and the dead records. Inserting
 * records one by one into an ordered tree takes several times as long (start of hack/bench/workspaces-at-rest.bench.ts).
 */
export class FullReplay implements RecordReplay {
  readonly segments: Segment[] = [];
  readonly #entries: Entry[] = [];
  /** Damaged records, by the delete that takes their place. */
  readonly #lost = new Map<Entry, Lost>();
  readonly #lostRecords: LostRecord[] = [];
  #ascii = true;
  #revision = 1;
  #oldest = 1;

  get revision(): number {
    return this.#revision;
  }

  /** Each revision is added once; those after the oldest revision without gaps. */
  add(entry: Entry, keyBytes: number): void {
    this.#entries.push(entry);
    if (keyBytes !== entry.key.length) this.#ascii = false;
    if (entry.revision > this.#revision) this.#revision = entry.revision;
  }

  lose(segment: Segment, record: DamagedRecord, replaces: boolean): void {
    const { key, header, offset, bytes } = record;
    const { revision } = header;
    const entry: Entry = { key, kind: 'delete', revision, expiresAt: undefined, bytes, segment, offset, dead: false };
    this.#lost.set(entry, { segment, record, replaces });
    this.add(entry, header.keyBytes);
  }

  /** The damaged records; after {@link build}. */
  get lostRecords(): readonly LostRecord[] {
    return this.#lostRecords;
  }

  advanceTo(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  compactTo(revision: number): void {
    this.#oldest = Math.max(this.#oldest, Math.min(revision, this.#revision));
  }

  build(): StoreState {
    const entries = this.#entries;
    sortByKey(entries, { ascii: this.#ascii });
    const changes: Change[] = Array.from({ length: this.#revision - this.#oldest });
    const current: Entry[] = [];
    for (let i = 0; i < entries.length;) {
      const { key } = entries[i] as Entry;
      let next = i + 1;
      while (next < entries.length && (entries[next] as Entry).key === key) next++;
      if (next === i + 1) this.#take(entries[i] as Entry, undefined, changes, current);
      else {
        const versions = entries.slice(i, next).sort((a, b) => a.revision - b.revision);
        for (const [j, entry] of versions.entries()) this.#take(entry, versions[j - 1], changes, current);
        if (this.#lost.size > 0) this.#judge(versions);
      }
      if (next === i + 1 && this.#lost.size > 0) this.#judge([entries[i] as Entry]);
      i = next;
    }
    const state = new StoreState({
      index: OrderedTree.fromSorted(current, !this.#ascii),
      history: new History(this.#oldest, changes),
      revision: this.#revision,
      expiring: expiringOf(current),
    });
    state.segments = this.segments;
    return state;
  }

  /** Compares the damaged records of one key with its other records. */
  #judge(versions: readonly Entry[]): void {
    for (const [i, entry] of versions.entries()) {
      const lost = this.#lost.get(entry);
      if (lost === undefined) continue;
      const { segment, record, replaces } = lost;
      const previous = versions[i - 1];
      const isUnknown = previous !== undefined && this.#lost.has(previous);
      const existed = previous !== undefined && previous.kind !== 'delete';
      const creates = record.header.kind === 'create';
      const trusted = isUnknown || (creates ? !existed : existed || !replaces);
      const superseded = record.header.kind === 'delete' || i < versions.length - 1;
      this.#lostRecords.push({ ...record, segment, trusted, superseded });
    }
  }

  /** Adds a record after the previous one of its key. Replaced records and deletes live as long as their change. */
  #take(entry: Entry, previous: Entry | undefined, changes: Change[], current: Entry[]): void {
    const remembered = entry.revision > this.#oldest;
    if (remembered) {
      changes[entry.revision - this.#oldest - 1] = {
        entry,
        previous: previous?.kind === 'delete' ? undefined : previous,
      };
    }
    if (previous !== undefined && previous.kind !== 'delete') {
      current.pop();
      if (!remembered) markDead(previous);
    }
    entry.segment.live += entry.bytes;
    if (entry.kind !== 'delete') current.push(entry);
    else if (!remembered) markDead(entry);
  }
}

/** The entries with an expiry time. */
function expiringOf(entries: readonly Entry[]): Expiry[] {
  const expiring: Expiry[] = [];
  for (const { key, expiresAt } of entries) if (expiresAt !== undefined) expiring.push({ key, at: expiresAt });
  return expiring;
}

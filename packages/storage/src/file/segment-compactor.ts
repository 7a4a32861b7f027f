import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { OrderedView } from '../ordered-tree.ts';
import { StorageFullError, StorageUnavailableError } from '../errors.ts';
import { encodeFileHeader, fileHeaderBytes } from './file-header.ts';
import { baseName, sync, unfinishedSuffix } from './data-directory.ts';
import { type LogWriter, writeAll } from './log-writer.ts';
import type { Entry } from './record.ts';
import type { DiskSpaceGuard } from './disk-space-guard.ts';
import { Segment } from './segment.ts';
import type { StoreState } from './store-state.ts';

export interface SegmentCompactorOptions {
  readonly directory: string;
  readonly salt: number;
  /** Called when records have moved to a new segment. */
  readonly onCompacted: () => void;
}

export interface SegmentCompactorModules {
  readonly state: StoreState;
  readonly writer: LogWriter;
  readonly diskSpace: DiskSpaceGuard;
}

/** Bytes that are copied at a time, and keys that are scanned between two yields to the event loop. */
const copyBytes = 1 << 20;
const keysPerSlice = 2000;
/** Garbage up to this size never starts a compaction. */
const slackBytes = 64 << 10;

interface CompactionSnapshot {
  /** The segments to compact. */
  readonly old: ReadonlySet<Segment>;
  readonly wanted: { readonly held: readonly Entry[]; readonly view: OrderedView<Entry> };
  readonly revision: number;
  readonly oldest: number;
}

interface Move {
  readonly entry: Entry;
  readonly offset: number;
}

/**
 * Reclaims disk space. When more than half of the segments is garbage, all live records of the segments before the active
 * log are copied into a new base, which replaces these segments.
 *
 *   concurrency   reads and writes continue: a record that dies meanwhile is copied in vain, new records go to the active
 *                 log, which is not compacted
 *   crash safety  the base is durable before it is renamed to its final name, and a base supersedes all segments up to its
 *                 number, so that a crash at any point leaves one complete store
 */
export class SegmentCompactor {
  readonly #options: SegmentCompactorOptions;
  readonly #state: StoreState;
  readonly #writer: LogWriter;
  readonly #diskSpace: DiskSpaceGuard;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: SegmentCompactorOptions, { state, writer, diskSpace }: SegmentCompactorModules) {
    this.#options = options;
    this.#state = state;
    this.#writer = writer;
    this.#diskSpace = diskSpace;
  }

  /** Compacts when more than this fraction of the segments is garbage. */
  async compactIfSparse(part = 0.5): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    const { total, live } = this.#state.size();
    if (this.#closed || total - live < slackBytes || total - live < part * total) return;
    // Old and new segments exist side by side.
    if (this.#diskSpace.freeBytes() < live + slackBytes) return;
    await this.#run();
  }

  /** Compacts, however little garbage there is. Throws StorageFullError when there is no space for a copy. */
  async compactAll(): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    if (this.#diskSpace.freeBytes() < this.#state.size().live + slackBytes) throw new StorageFullError();
    await this.#run();
  }

  async #run(): Promise<void> {
    this.#running = this.#compact();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
    }
    this.#options.onCompacted();
  }

  /** Prevents compaction while `work` runs, so that records do not move. */
  async pause(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    this.#running = work();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.catch(() => undefined);
  }

  async #compact(): Promise<void> {
    await this.#state.history.materialize();
    const { old, wanted, revision, oldest } = await this.#writer.rotate(() => this.#snapshot());
    const id = Math.max(...[...old].map((segment) => segment.id));
    const path = join(this.#options.directory, baseName(id));
    const unfinished = path + unfinishedSuffix;
    const file = await open(unfinished, 'w+', 0o600);
    const target = new Segment(id, path, file, fileHeaderBytes);
    try {
      const moves = await this.#copyWanted(old, wanted, target);
      const header = { kind: 'base' as const, id, revision, oldest, size: target.size, salt: this.#options.salt };
      await writeAll(file, encodeFileHeader(header), 0);
      await file.sync();
      await rename(unfinished, path);
      await sync(this.#options.directory);
      await this.#switch(old, target, moves);
    } catch (error) {
      if (!this.#state.segments.includes(target)) {
        await file.close();
        await rm(unfinished, { force: true });
      }
      throw error;
    }
  }

  /** The state that the base contains, independent of changes during the compaction. */
  #snapshot(): CompactionSnapshot {
    const { segments, revision, history, index } = this.#state;
    const wanted = { held: history.retainedEntries(), view: index.freeze() };
    return { old: new Set(segments.slice(0, -1)), wanted, revision, oldest: history.oldest };
  }

  async #copyWanted(
    old: ReadonlySet<Segment>,
    { held, view }: CompactionSnapshot['wanted'],
    target: Segment,
  ): Promise<Move[]> {
    const copy = new RecordCopier(old, target, () => this.#closed);
    for (const entry of held) if (copy.add(entry)) await copy.flush();
    for (let from = ''; ;) {
      const entries = view.scan(from, undefined, keysPerSlice);
      for (const entry of entries) if (copy.add(entry)) await copy.flush();
      const last = entries.at(-1);
      if (last === undefined) break;
      from = `${last.key}\0`;
      await yieldToEventLoop();
    }
    await copy.flush();
    return copy.moves;
  }

  /** Replaces the old segments by the base. */
  async #switch(old: ReadonlySet<Segment>, target: Segment, moves: readonly Move[]): Promise<void> {
    // Without yielding: the sizes of the segments must match their records.
    for (const { entry, offset } of moves) {
      entry.segment = target;
      entry.offset = offset;
      if (!entry.dead) target.live += entry.bytes;
    }
    this.#state.segments = [target, ...this.#state.segments.filter((segment) => !old.has(segment))];
    for (const segment of old) await segment.retire(true);
  }
}

/** Copies records, reading adjacent records together. */
class RecordCopier {
  readonly moves: Move[] = [];
  readonly #from: ReadonlySet<Segment>;
  readonly #target: Segment;
  readonly #isClosed: () => boolean;
  readonly #seen = new Set<Entry>();
  #pending: Entry[] = [];
  #bytes = 0;

  constructor(from: ReadonlySet<Segment>, target: Segment, isClosed: () => boolean) {
    this.#from = from;
    this.#target = target;
    this.#isClosed = isClosed;
  }

  /** True when the caller should flush. */
  add(entry: Entry): boolean {
    if (!this.#from.has(entry.segment) || this.#seen.has(entry)) return false;
    this.#seen.add(entry);
    this.#pending.push(entry);
    this.#bytes += entry.bytes;
    return this.#bytes >= copyBytes;
  }

  async flush(): Promise<void> {
    if (this.#isClosed()) throw new StorageUnavailableError('the store is closed');
    const entries = this.#pending;
    this.#pending = [];
    this.#bytes = 0;
    if (entries.length === 0) return;
    // In file order, so that reads are sequential.
    entries.sort((a, b) => (a.segment === b.segment ? a.offset - b.offset : a.segment.id - b.segment.id));
    const parts: Buffer[] = [];
    let at = this.#target.size;
    for (let i = 0; i < entries.length;) {
      const first = entries[i] as Entry;
      let end = first.offset;
      const begin = i;
      for (; i < entries.length; i++) {
        const entry = entries[i] as Entry;
        if (entry.segment !== first.segment || entry.offset !== end) break;
        end += entry.bytes;
      }
      parts.push(await first.segment.read(first.offset, end - first.offset));
      for (const entry of entries.slice(begin, i)) {
        this.moves.push({ entry, offset: at });
        at += entry.bytes;
      }
    }
    await writeAll(this.#target.file, Buffer.concat(parts), this.#target.size);
    this.#target.size = at;
  }
}

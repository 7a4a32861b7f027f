import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OrderedView } from '../cacher/ordered-tree.ts';
import { StorageUnavailableError } from '../errors.ts';
import { encodeFileHead, fileHeadBytes } from './file-head.ts';
import { baseName, sync, unfinishedSuffix } from './folder.ts';
import { type LogWriter, writeAll } from './log-writer.ts';
import type { Entry } from './record.ts';
import type { RoomGuard } from './room-guard.ts';
import { Segment } from './segment.ts';
import type { State } from './state.ts';

export interface MergerOptions {
  readonly folder: string;
  readonly salt: number;
  /** Records stand elsewhere now. */
  readonly onMerged: () => void;
}

export interface MergerModules {
  readonly state: State;
  readonly writer: LogWriter;
  readonly room: RoomGuard;
}

/** How much is copied at a time, and how many keys are looked at. */
const copyBytes = 1 << 20;
const keysPerTurn = 2000;
/** Garbage that is left alone, whatever it is to the rest. */
const slackBytes = 64 << 10;

interface Moment {
  /** The files that are merged. */
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
 * Gives room back. When less than half of the files is wanted, everything that is wanted of the files before the one that
 * is written to is copied into a new base, which takes their place. Reads and writes go on: a record that dies meanwhile
 * is copied in vain, one that is written meanwhile stands in a file that is not touched. The base is durable before it
 * gets its name, and a base makes every file up to its number meaningless, so a crash at any point leaves one whole store.
 */
export class Merger {
  readonly #options: MergerOptions;
  readonly #state: State;
  readonly #writer: LogWriter;
  readonly #room: RoomGuard;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: MergerOptions, { state, writer, room }: MergerModules) {
    this.#options = options;
    this.#state = state;
    this.#writer = writer;
    this.#room = room;
  }

  /** Merges when it is worth it; `part` of the files may be garbage. */
  async mergeIfSparse(part = 0.5): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    const { total, live } = this.#state.size();
    if (this.#closed || total - live < slackBytes || total - live < part * total) return;
    // Old and new stand side by side for a moment.
    if (this.#room.freeBytes() < live + slackBytes) return;
    this.#running = this.#merge();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
    }
    this.#options.onMerged();
  }

  /** Nothing is merged while this runs, so records stay where they are. */
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

  async #merge(): Promise<void> {
    await this.#state.history.makeAll();
    const { old, wanted, revision, oldest } = await this.#writer.roll(() => this.#look());
    const id = Math.max(...[...old].map((segment) => segment.id));
    const path = join(this.#options.folder, baseName(id));
    const unfinished = path + unfinishedSuffix;
    const file = await open(unfinished, 'w+', 0o600);
    const target = new Segment(id, path, file, fileHeadBytes);
    try {
      const moves = await this.#copyWanted(old, wanted, target);
      const head = { kind: 'base' as const, id, revision, oldest, size: target.size, salt: this.#options.salt };
      await writeAll(file, encodeFileHead(head), 0);
      await file.sync();
      await rename(unfinished, path);
      await sync(this.#options.folder);
      await this.#switch(old, target, moves);
    } catch (error) {
      if (!this.#state.segments.includes(target)) {
        await file.close();
        await rm(unfinished, { force: true });
      }
      throw error;
    }
  }

  /** One moment of the store; the base holds exactly it, whatever dies while it is made. */
  #look(): Moment {
    const { segments, revision, history, index } = this.#state;
    const wanted = { held: history.held(), view: index.freeze() };
    return { old: new Set(segments.slice(0, -1)), wanted, revision, oldest: history.oldest };
  }

  async #copyWanted(old: ReadonlySet<Segment>, { held, view }: Moment['wanted'], target: Segment): Promise<Move[]> {
    const copy = new Copy(old, target, () => this.#closed);
    for (const entry of held) if (copy.add(entry)) await copy.flush();
    for (let from = ''; ;) {
      const entries = view.scan(from, undefined, keysPerTurn);
      for (const entry of entries) if (copy.add(entry)) await copy.flush();
      const last = entries.at(-1);
      if (last === undefined) break;
      from = `${last.key}\0`;
      await nextTurn();
    }
    await copy.flush();
    return copy.moves;
  }

  /** The new base counts from here on. */
  async #switch(old: ReadonlySet<Segment>, target: Segment, moves: readonly Move[]): Promise<void> {
    // In one turn: the sizes of the files must fit to what stands in them.
    for (const { entry, offset } of moves) {
      entry.segment = target;
      entry.offset = offset;
      if (!entry.dead) target.live += entry.bytes;
    }
    this.#state.segments = [target, ...this.#state.segments.filter((segment) => !old.has(segment))];
    for (const segment of old) await segment.retire(true);
  }
}

/** Copies records one by one, reading what stands together at once. */
class Copy {
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

  /** True when it is time to copy. */
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
    // In the order of the files, so that reading goes forward.
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

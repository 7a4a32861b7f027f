import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OrderedTree } from '../cacher/ordered-tree.ts';
import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { BulkState, BulkValue } from '../interface.ts';
import { afterPrefix } from './range-reader.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import type { State } from './state.ts';
import type { ValueReader } from './value-reader.ts';

/** Files are read in such pieces, each of them at once; the next is read while one is looked at. */
const regionBytes = 1 << 20;
/** With less than this share of a piece wanted, its records are read one by one. */
const denseShare = 1 / 4;
/** Entries of which the places are taken down in one turn of the event loop. */
const entriesPerTurn = 20_000;

/** What is wanted of one piece of a file. */
interface Region {
  readonly segment: Segment;
  begin: number;
  end: number;
  wanted: number;
  readonly indices: number[];
  readonly offsets: number[];
}

/**
 * Reads a whole state in the order of the files. Keys are ordered by resource and logical cluster, files by time: page by
 * page nearly every value is a read of its own, this way a file is gone through once, from its beginning to its end.
 *
 * The state and the places of its records are taken down first, every file that has one is held open until the end, so a
 * merge that moves records meanwhile does not matter.
 */
export function readBulk(state: State, values: ValueReader, prefix: string, revision: number): BulkState {
  const view = viewAt(state, revision);
  const entries = view.scan(prefix, afterPrefix(prefix));
  const held = new Set(state.segments);
  for (const segment of held) segment.hold();
  return { keys: entries.map(({ key }) => key), wide: view.isWide, batches: batchesOf(entries, held, values) };
}

/** The state of now with the changes since then undone. */
function viewAt(state: State, revision: number): OrderedTree<Entry> {
  const { oldest } = state.history;
  if (revision > state.revision) throw new FutureRevisionError(revision, state.revision);
  if (revision < oldest) throw new CompactedError(revision, oldest);
  const tree = state.index.freeze().thaw();
  if (revision < state.revision) {
    for (const { key, entry } of state.history.before(revision)) {
      if (entry === undefined) tree.delete(key);
      else tree.set(entry);
    }
  }
  return tree;
}

/** Values of entries, by their place among them; files that are not held yet are held until the end. */
export async function* batchesOf(
  entries: readonly Entry[],
  held: Set<Segment>,
  values: ValueReader,
): AsyncGenerator<readonly BulkValue[], void, undefined> {
  try {
    const regions = await regionsOf(entries, held);
    // A file is read through two pieces of memory: new ones for each would make V8 collect garbage again and again.
    const memory = [new Room(), new Room()] as const;
    let coming = read(regions[0], entries, values, memory[0]);
    for (let i = 0; i < regions.length; i++) {
      const batch = await coming;
      coming = read(regions[i + 1], entries, values, memory[i % 2 === 0 ? 1 : 0]);
      // Whoever leaves in between does not wait for it.
      coming.catch(() => undefined);
      yield batch;
    }
  } finally {
    for (const segment of held) await segment.release();
  }
}

/** Memory that is used again, as large as it once had to be. */
class Room {
  #bytes = Buffer.alloc(0);

  of(length: number): Buffer {
    if (this.#bytes.length < length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(length, 2 * regionBytes));
    return this.#bytes.subarray(0, length);
  }
}

async function regionsOf(entries: readonly Entry[], held: Set<Segment>): Promise<Region[]> {
  const files = new Map<Segment, Region[]>();
  for (let index = 0; index < entries.length; index++) {
    const { segment, offset, bytes } = entries[index] as Entry;
    let regions = files.get(segment);
    if (regions === undefined) {
      // A merge may have moved it since.
      if (!held.has(segment)) segment.hold();
      held.add(segment);
      files.set(segment, (regions = []));
    }
    const number = Math.trunc(offset / regionBytes);
    const region = (regions[number] ??= { segment, begin: offset, end: 0, wanted: 0, indices: [], offsets: [] });
    region.begin = Math.min(region.begin, offset);
    region.end = Math.max(region.end, offset + bytes);
    region.wanted += bytes;
    region.indices.push(index);
    region.offsets.push(offset);
    if (index % entriesPerTurn === entriesPerTurn - 1) await nextTurn();
  }
  const inOrder = [...files].sort(([a], [b]) => a.id - b.id);
  // Pieces of which nothing is wanted are holes.
  return inOrder.flatMap(([, regions]) => regions.filter((region) => region !== undefined));
}

async function read(
  region: Region | undefined,
  entries: readonly Entry[],
  values: ValueReader,
  room: Room,
): Promise<readonly BulkValue[]> {
  if (region === undefined) return [];
  const { segment, begin, end, wanted, indices, offsets } = region;
  const wantedEntries = indices.map((index) => entries[index] as Entry);
  if (wanted < (end - begin) * denseShare) {
    const found = await values.values(wantedEntries);
    return found.map(({ value, revision }, i) => ({ index: indices[i] as number, value, revision }));
  }
  const bytes = await segment.readInto(room.of(end - begin), begin);
  return wantedEntries.map((entry, i) => ({
    index: indices[i] as number,
    value: values.cut(bytes, (offsets[i] as number) - begin, entry),
    revision: entry.revision,
  }));
}

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { OrderedTree } from '../ordered-tree.ts';
import { CompactedError, FutureRevisionError } from '../errors.ts';
import type { BulkRead, BulkValue } from '../capabilities/bulk-read.ts';
import { prefixEnd } from './range-reader.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';
import type { StoreState } from './store-state.ts';
import type { ValueReader } from './value-reader.ts';

/** Segments are read in regions of this size; the next region is read while the current one is processed. */
const regionBytes = 1 << 20;
/** A region with a smaller fraction of requested bytes is read record by record. */
const minDensity = 1 / 4;
/** Entries processed between two yields to the event loop. */
const entriesPerSlice = 20_000;

/** The requested records of one region of a segment. */
interface Region {
  readonly segment: Segment;
  begin: number;
  end: number;
  wanted: number;
  readonly indices: number[];
  readonly offsets: number[];
}

/**
 * Reads a whole state in the order of the segments. Keys are ordered by resource and logical cluster, segments by time: page
 * by page nearly every value is a separate read, this way each segment is read once, sequentially
 * (docs/adr/0064-sequential-recovery.md; start of hack/bench/workspaces-at-rest.bench.ts).
 *
 * The entries and the positions of their records are captured first, and their segments are held open until the end, so
 * that a concurrent segment compaction does not affect the read.
 */
export function readBulk(state: StoreState, values: ValueReader, prefix: string, revision: number): BulkRead {
  const view = viewAt(state, revision);
  const entries = view.scan(prefix, prefixEnd(prefix));
  const held = new Set(state.segments);
  for (const segment of held) segment.hold();
  return { keys: entries.map(({ key }) => key), wide: view.isWide, batches: readBatches(entries, held, values) };
}

/** The current state with the changes after `revision` reverted. */
function viewAt(state: StoreState, revision: number): OrderedTree<Entry> {
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

/** Reads the values of entries; {@link BulkValue.index} refers to `entries`. Holds their segments open until the end. */
export async function* readBatches(
  entries: readonly Entry[],
  held: Set<Segment>,
  values: ValueReader,
): AsyncGenerator<readonly BulkValue[], void, undefined> {
  try {
    const regions = await regionsOf(entries, held);
    // Two reusable buffers: a buffer per region is external memory that makes V8 collect garbage again and again.
    const memory = [new ReusableBuffer(), new ReusableBuffer()] as const;
    let nextRead = read(regions[0], entries, values, memory[0]);
    for (let i = 0; i < regions.length; i++) {
      const batch = await nextRead;
      nextRead = read(regions[i + 1], entries, values, memory[i % 2 === 0 ? 1 : 0]);
      // The consumer may stop before it awaits this read.
      nextRead.catch(() => undefined);
      yield batch;
    }
  } finally {
    for (const segment of held) await segment.release();
  }
}

/** A buffer that grows to the largest requested size. */
class ReusableBuffer {
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
      // Compaction may have moved the record since.
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
    if (index % entriesPerSlice === entriesPerSlice - 1) await yieldToEventLoop();
  }
  const inOrder = [...files].sort(([a], [b]) => a.id - b.id);
  // Regions without requested records are holes.
  return inOrder.flatMap(([, regions]) => regions.filter((region) => region !== undefined));
}

async function read(
  region: Region | undefined,
  entries: readonly Entry[],
  values: ValueReader,
  buffer: ReusableBuffer,
): Promise<readonly BulkValue[]> {
  if (region === undefined) return [];
  const { segment, begin, end, wanted, indices, offsets } = region;
  const wantedEntries = indices.map((index) => entries[index] as Entry);
  if (wanted < (end - begin) * minDensity) {
    const found = await values.values(wantedEntries);
    return found.map(({ value, revision }, i) => ({ index: indices[i] as number, value, revision }));
  }
  const bytes = await segment.readInto(buffer.of(end - begin), begin);
  return wantedEntries.map((entry, i) => ({
    index: indices[i] as number,
    value: values.extractValue(bytes, (offsets[i] as number) - begin, entry),
    revision: entry.revision,
  }));
}

import type { ResourceDefinition } from '@multiplane/apis';
import { shareChunk } from '@multiplane/generic-server';
import type { CacheEntry } from '@multiplane/storage';
import { LRUCache } from 'lru-cache';

/** Stored bytes per block: with separators and revisions not more than a single write to a socket should have. */
const blockBytes = 60 * 1024;
/** Shorter runs are always encoded again: that costs less than their bookkeeping. */
const minBlockBytes = 16 * 1024;

/** A run of consecutive items in a list. */
interface Block {
  readonly definition: ResourceDefinition;
  /** Keys and revisions of its entries, which together determine the stored bytes. */
  readonly keys: readonly string[];
  readonly revisions: readonly number[];
  /** The encoded items, each preceded by a comma; absent until the run, or the one that it replaces, is listed a second time. */
  bytes: Buffer | undefined;
  /** {@link bytes} without the first comma, for lists that start here; absent until there was one. */
  firstBytes: Buffer | undefined;
  /** The period of its last use; see {@link ListBlocks.releaseUnused}. */
  usedIn: number;
}

/** What a list does next: write `bytes`, which contain `count` items, or encode `count` items itself. */
export type NextBlock =
  | { readonly bytes: Buffer; readonly count: number }
  | { readonly bytes?: undefined; readonly count: number };

/**
 * A cache of encoded list segments: of a large list that is requested repeatedly, the parts without changes are sent as they
 * were encoded the last time.
 *
 * A run of entries is registered by its first key when it is listed. When it is listed again unchanged, its encoded bytes
 * are kept, so lists that are requested once take no memory beyond their keys. A changed run is encoded up to the start of
 * the next known run, and kept at once if the run that it replaces was kept. Requests are authorized before they get here; a block is the same for all clients.
 */
export class ListBlocks {
  readonly #blocks: LRUCache<string, Block>;
  #period = 0;

  constructor({ maxBytes }: { readonly maxBytes: number }) {
    this.#blocks = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ keys, bytes }, key) => keys.length * 32 + key.length + (bytes?.length ?? 0),
    });
  }

  /** Drops segments that were not used since the previous call, and starts the next period. */
  releaseUnused(): void {
    const unused: string[] = [];
    for (const key of this.#blocks.rkeys()) {
      // All further ones were used later.
      if ((this.#blocks.peek(key)?.usedIn ?? 0) >= this.#period) break;
      unused.push(key);
    }
    for (const key of unused) this.#blocks.delete(key);
    this.#period++;
  }

  /**
   * What comes next in a list, from `entries[from]` on. `encode` encodes a run, or returns undefined if one of its entries
   * must be converted. `omitted`: how many bytes at the start are left out.
   */
  next(
    definition: ResourceDefinition,
    entries: readonly CacheEntry[],
    from: number,
    encode: (run: readonly CacheEntry[]) => Buffer | undefined,
    omitted = 0,
  ): NextBlock {
    const first = (entries[from] as CacheEntry).key;
    const known = this.#blocks.get(first);
    if (known !== undefined && known.definition === definition && isRun(known, entries, from)) {
      const count = known.keys.length;
      known.usedIn = this.#period;
      if (known.bytes !== undefined) return { bytes: bytesOf(known, known.bytes, omitted), count };
      const bytes = encode(entries.slice(from, from + count));
      if (bytes === undefined) return { count };
      const block = { ...known, bytes: shareChunk(bytes) };
      this.#blocks.set(first, block);
      return { bytes: bytesOf(block, bytes, omitted), count };
    }
    const run = this.#runFrom(entries, from);
    if (run.bytes < minBlockBytes) return { count: run.count };
    const members = entries.slice(from, from + run.count);
    const block: Block = {
      definition,
      keys: members.map(({ key }) => key),
      revisions: members.map(({ revision }) => revision),
      bytes: undefined,
      firstBytes: undefined,
      usedIn: this.#period,
    };
    // A page that ends within the kept run says nothing about the lists that contain all of it.
    const changed = known?.definition === definition && from + known.keys.length <= entries.length ? known : undefined;
    const bytes = changed?.bytes === undefined ? undefined : encode(members);
    if (bytes === undefined) {
      this.#blocks.set(first, block);
      return { count: run.count };
    }
    block.bytes = shareChunk(bytes, changed?.firstBytes ?? changed?.bytes);
    this.#blocks.set(first, block);
    return { bytes: bytesOf(block, bytes, omitted), count: run.count };
  }

  /** Whether {@link next} has bytes for the run that starts here. */
  has(definition: ResourceDefinition, entries: readonly CacheEntry[], from: number): boolean {
    const known = this.#blocks.peek((entries[from] as CacheEntry).key);
    return known?.bytes !== undefined && known.definition === definition && isRun(known, entries, from);
  }

  /** The run that starts here: until it is large enough, or a known run starts. */
  #runFrom(entries: readonly CacheEntry[], from: number): { readonly count: number; readonly bytes: number } {
    let bytes = 0;
    let at = from;
    for (; at < entries.length; at++) {
      const { key, value } = entries[at] as CacheEntry;
      if (at > from && (bytes + value.length > blockBytes || this.#blocks.peek(key) !== undefined)) break;
      bytes += value.length;
    }
    return { count: at - from, bytes };
  }
}

/** The same buffer for each list, so that its compressed form is found. */
function bytesOf(block: Block, bytes: Buffer, omitted: number): Buffer {
  return omitted === 0 ? bytes : (block.firstBytes ??= shareChunk(bytes.subarray(omitted), bytes));
}

function isRun({ keys, revisions }: Block, entries: readonly CacheEntry[], from: number): boolean {
  if (from + keys.length > entries.length) return false;
  for (let i = 0; i < keys.length; i++) {
    const { key, revision } = entries[from + i] as CacheEntry;
    if (revision !== revisions[i] || key !== keys[i]) return false;
  }
  return true;
}

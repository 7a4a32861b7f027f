import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { RecentlyUsed } from '../recently-used.ts';

/** Stored bytes of a block: with what is put in between no more than one write to a socket should have. */
const blockBytes = 60 * 1024;
/** Shorter runs are encoded anew: what they would save is less than what looking after them takes. */
const leastBytes = 16 * 1024;

/** A run of neighbours in a list. */
interface Block {
  readonly definition: ResourceDefinition;
  /** Key and revision of its entries: together they say which bytes are stored. */
  readonly keys: readonly string[];
  readonly revisions: readonly number[];
  /** As they stand in a list, each behind a comma; absent until the run was listed a second time. */
  bytes: Buffer | undefined;
}

/** What a list does with the entries from some place on: write bytes, or encode so many of them. */
export type NextBlock =
  | { readonly bytes: Buffer; readonly count: number }
  | { readonly bytes?: undefined; readonly count: number };

/**
 * Encoded pieces of lists that are asked for again and again, of objects that did not change in between: most of a large
 * list is then sent as it was the last time.
 *
 * A run of entries is remembered by its first key when it is listed; when it is listed once more as it was, its bytes are
 * kept. So lists that come once take no memory beyond their keys. A run that changed is encoded anew up to where a known
 * one begins. Who may see a list is judged before, and never here: what is kept is the same for all who see it whole.
 */
export class ListBlocks {
  readonly #blocks: RecentlyUsed<string, Block>;

  constructor({ maxBytes }: { readonly maxBytes: number }) {
    this.#blocks = new RecentlyUsed(
      maxBytes,
      ({ keys, bytes }, key) => keys.length * 32 + key.length + (bytes?.length ?? 0),
    );
  }

  /**
   * What comes next in a list, from `entries[from]` on. `encode` makes bytes of a run; entries it is asked for are never
   * asked about again.
   */
  next(
    definition: ResourceDefinition,
    entries: readonly CacheEntry[],
    from: number,
    encode: (run: readonly CacheEntry[]) => Buffer | undefined,
  ): NextBlock {
    const first = (entries[from] as CacheEntry).key;
    const known = this.#blocks.get(first);
    if (known !== undefined && known.definition === definition && isRun(known, entries, from)) {
      const count = known.keys.length;
      if (known.bytes !== undefined) return { bytes: known.bytes, count };
      const bytes = encode(entries.slice(from, from + count));
      if (bytes === undefined) return { count };
      this.#blocks.set(first, { ...known, bytes });
      return { bytes, count };
    }
    const run = this.#runFrom(entries, from);
    if (run.bytes >= leastBytes) {
      const block = entries.slice(from, from + run.count);
      this.#blocks.set(first, {
        definition,
        keys: block.map(({ key }) => key),
        revisions: block.map(({ revision }) => revision),
        bytes: undefined,
      });
    }
    return { count: run.count };
  }

  /** The run that begins here: until it is large enough, or a known one begins. */
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

function isRun({ keys, revisions }: Block, entries: readonly CacheEntry[], from: number): boolean {
  if (from + keys.length > entries.length) return false;
  for (let i = 0; i < keys.length; i++) {
    const { key, revision } = entries[from + i] as CacheEntry;
    if (revision !== revisions[i] || key !== keys[i]) return false;
  }
  return true;
}

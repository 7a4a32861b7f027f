import { compareKeys } from '../key-order.ts';

interface Keyed {
  readonly key: string;
}

/** Characters per round, of seven bits each; together with the index of an item they fit into a double. */
const codeChars = 4;
const indexRange = 2 ** 24;
/** Smaller groups are sorted by insertion. */
const insertionSortSize = 12;

/**
 * Stable in-index sort by key.
 *
 * A comparison sort of a million keys with long common prefixes takes seconds, mostly for comparing the prefixes and for
 * cache misses. This radix sort skips the common prefix of each group, packs the next characters of each key and its index
 * into one number, sorts the numbers, and recurses into groups with equal characters (start of hack/bench/workspaces-at-rest.bench.ts).
 */
export function sortByKey(items: Keyed[], options: { readonly ascii: boolean }): void {
  if (isSorted(items, options.ascii)) return;
  if (!options.ascii || items.length > indexRange) items.sort((a, b) => compareKeys(a.key, b.key));
  else new KeySorter(items).sort(0, items.length, 0);
}

/** After a compaction the records are already sorted. */
function isSorted(items: readonly Keyed[], ascii: boolean): boolean {
  for (let i = 1; i < items.length; i++) {
    const a = (items[i - 1] as Keyed).key;
    const b = (items[i] as Keyed).key;
    if (ascii ? a > b : compareKeys(a, b) > 0) return false;
  }
  return true;
}

class KeySorter {
  readonly #items: Keyed[];
  readonly #codes: Float64Array;
  readonly #before: Keyed[];

  constructor(items: Keyed[]) {
    this.#items = items;
    this.#codes = new Float64Array(items.length);
    this.#before = items.slice();
  }

  /** Sorts a range whose keys share the first `known` characters. */
  sort(begin: number, end: number, known: number): void {
    if (end - begin <= insertionSortSize) this.#sortFew(begin, end);
    else {
      const shared = this.#shared(begin, end, known);
      const groups = this.#sortCodes(begin, end, shared);
      for (let i = 0; i + 1 < groups.length; i++) {
        const from = groups[i] as number;
        const to = groups[i + 1] as number;
        // Keys that end within equal codes are equal.
        if (to - from > 1 && (this.#items[from] as Keyed).key.length >= shared + codeChars) {
          this.sort(from, to, shared + codeChars);
        }
      }
    }
  }

  /** Sorts by the characters at an offset; returns the starts of groups with equal characters, and the end. */
  #sortCodes(begin: number, end: number, at: number): number[] {
    const codes = this.#codes.subarray(0, end - begin);
    for (let i = begin; i < end; i++) {
      codes[i - begin] = this.#code(i, at) * indexRange + (i - begin);
      this.#before[i] = this.#items[i] as Keyed;
    }
    codes.sort();
    const groups: number[] = [];
    let last = -1;
    for (let i = 0; i < codes.length; i++) {
      const index = (codes[i] as number) % indexRange;
      const code = ((codes[i] as number) - index) / indexRange;
      this.#items[begin + i] = this.#before[begin + index] as Keyed;
      if (code !== last) groups.push(begin + i);
      last = code;
    }
    groups.push(end);
    return groups;
  }

  /** The characters at an offset as a number; positions after the end of the key are smallest. */
  #code(index: number, at: number): number {
    const { key } = this.#items[index] as Keyed;
    let code = 0;
    for (let i = at; i < at + codeChars; i++) code = code * 129 + (i < key.length ? key.charCodeAt(i) + 1 : 0);
    return code;
  }

  #shared(begin: number, end: number, known: number): number {
    const { key: first } = this.#items[begin] as Keyed;
    let shared = first.length;
    for (let i = begin + 1; i < end && shared > known; i++) {
      const { key } = this.#items[i] as Keyed;
      let same = known;
      while (same < shared && same < key.length && key.charCodeAt(same) === first.charCodeAt(same)) same++;
      shared = same;
    }
    return shared;
  }

  #sortFew(begin: number, end: number): void {
    const items = this.#items;
    for (let i = begin + 1; i < end; i++) {
      const item = items[i] as Keyed;
      let to = i;
      for (; to > begin && (items[to - 1] as Keyed).key > item.key; to--) items[to] = items[to - 1] as Keyed;
      items[to] = item;
    }
  }
}

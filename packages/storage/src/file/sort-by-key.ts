import { compareKeys } from '../key-order.ts';

interface Keyed {
  readonly key: string;
}

/** Characters that are looked at in one round, each of seven bits; with the place of an item they fill a number. */
const codeChars = 4;
const places = 2 ** 24;
/** Fewer are sorted by comparison. */
const few = 12;

/**
 * Sorts by key, in place; equal keys keep their order.
 *
 * A million keys that begin alike cost a comparison sort seconds, nearly all of it spent on what they share and on waiting
 * for memory. Here each round skips what a group has in common, takes the next characters of each key and its place as one
 * number, sorts the numbers, and goes on within the groups of those that are still alike.
 */
export function sortByKey(items: Keyed[], options: { readonly ascii: boolean }): void {
  if (isSorted(items, options.ascii)) return;
  if (!options.ascii || items.length > places) items.sort((a, b) => compareKeys(a.key, b.key));
  else new KeySorter(items).sort(0, items.length, 0);
}

/** A store that was merged last has them in order. */
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

  /** `known` characters at the beginning are the same in all of the range. */
  sort(begin: number, end: number, known: number): void {
    if (end - begin <= few) this.#sortFew(begin, end);
    else {
      const shared = this.#shared(begin, end, known);
      const groups = this.#sortCodes(begin, end, shared);
      for (let i = 0; i + 1 < groups.length; i++) {
        const from = groups[i] as number;
        const to = groups[i + 1] as number;
        // Equal codes of keys that end within them are equal keys.
        if (to - from > 1 && (this.#items[from] as Keyed).key.length >= shared + codeChars) {
          this.sort(from, to, shared + codeChars);
        }
      }
    }
  }

  /** Sorts by the characters from a place on; returns where groups of equal ones begin, and the end. */
  #sortCodes(begin: number, end: number, at: number): number[] {
    const codes = this.#codes.subarray(0, end - begin);
    for (let i = begin; i < end; i++) {
      codes[i - begin] = this.#code(i, at) * places + (i - begin);
      this.#before[i] = this.#items[i] as Keyed;
    }
    codes.sort();
    const groups: number[] = [];
    let last = -1;
    for (let i = 0; i < codes.length; i++) {
      const place = (codes[i] as number) % places;
      const code = ((codes[i] as number) - place) / places;
      this.#items[begin + i] = this.#before[begin + place] as Keyed;
      if (code !== last) groups.push(begin + i);
      last = code;
    }
    groups.push(end);
    return groups;
  }

  /** The characters from a place on as a number; what is behind the end counts as smallest. */
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

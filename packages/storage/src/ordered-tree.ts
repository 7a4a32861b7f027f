import { compareKeys } from './key-order.ts';

/** An element of the tree. */
export interface Keyed {
  readonly key: string;
}

/** Maximum number of entries of a leaf and of children of an inner node; a split leaves half. */
const fanout = 64;
/** A node with fewer entries is merged with a neighbour when both together have at most `mergeLimit`. */
const minWidth = 16;
const mergeLimit = 48;

/** Identity token: a tree may modify a node in place when both hold the same token. */
type Owner = object;

/** Consecutive entries that are created on the first access to one of them. */
export interface LazyRun<T> {
  /** Key of the first entry. */
  readonly first: string;
  readonly size: number;
  make(): T[];
}

class Leaf<T> {
  readonly owner: Owner;
  /** The entries, or the run that creates them. */
  #items: T[] | Pick<LazyRun<T>, 'size' | 'make'>;
  constructor(owner: Owner, items: T[] | Pick<LazyRun<T>, 'size' | 'make'>) {
    this.owner = owner;
    this.#items = items;
  }
  get items(): T[] {
    return Array.isArray(this.#items) ? this.#items : (this.#items = this.#items.make());
  }
  get size(): number {
    return Array.isArray(this.#items) ? this.#items.length : this.#items.size;
  }
}

class Inner<T> {
  readonly owner: Owner;
  readonly children: Node<T>[];
  /** `starts[i]` ≤ every key of child i and > every key of child i − 1. `starts[0]` is not used. */
  readonly starts: string[];
  size: number;
  constructor(owner: Owner, children: Node<T>[], starts: string[], size: number) {
    this.owner = owner;
    this.children = children;
    this.starts = starts;
    this.size = size;
  }
}

type Node<T> = Leaf<T> | Inner<T>;

/**
 * An immutable state of an {@link OrderedTree}; creating it costs O(1).
 *
 * Keys are ordered by their UTF-8 bytes. JavaScript's string comparison is several times faster and differs only for
 * characters from U+D800 on, so it is used until the first such key is inserted (`wide`; point reads of
 * hack/bench/watch-cache.bench.ts).
 */
export class OrderedView<T extends Keyed> {
  protected root: Node<T>;
  protected wide: boolean;

  constructor(root: Node<T> = new Leaf<T>({}, []), wide = false) {
    this.root = root;
    this.wide = wide;
  }

  /** A tree that starts with this state and does not modify it. */
  thaw(): OrderedTree<T> {
    return new OrderedTree(this.root, this.wide);
  }

  get size(): number {
    return this.root.size;
  }

  /** A tree with the result of `make` for each entry, under the same key; `make` is called on the first access to its leaf. */
  map<U extends Keyed>(make: (item: T) => U): OrderedTree<U> {
    const owner: Owner = {};
    return new OrderedTree(mapped(this.root, owner, make), this.wide, owner);
  }

  /** Some key may contain a character from U+D800 on. */
  get isWide(): boolean {
    return this.wide;
  }

  /** O(log n). */
  get(key: string): T | undefined {
    let node = this.root;
    while (node instanceof Inner) node = node.children[this.childOf(node, key)] as Node<T>;
    const found = node.items[this.positionIn(node.items, key)];
    return found?.key === key ? found : undefined;
  }

  /** Entries from `from` (inclusive) to `to` (exclusive; undefined: the end), at most `limit`. O(log n + result). */
  scan(from: string, to: string | undefined, limit = Infinity): T[] {
    const result: T[] = [];
    if (limit > 0) this.collect(this.root, from, to, limit, result);
    return result;
  }

  /** Number of keys below `key`. O(log n). */
  rank(key: string): number {
    let rank = 0;
    let node = this.root;
    while (node instanceof Inner) {
      const index = this.childOf(node, key);
      for (let i = 0; i < index; i++) rank += (node.children[i] as Node<T>).size;
      node = node.children[index] as Node<T>;
    }
    return rank + this.positionIn(node.items, key);
  }

  /** Appends the entries of the range; false when the scan is complete. */
  private collect(node: Node<T>, from: string, to: string | undefined, limit: number, into: T[]): boolean {
    if (node instanceof Inner) {
      for (let i = this.childOf(node, from); i < node.children.length; i++) {
        if (!this.collect(node.children[i] as Node<T>, from, to, limit, into)) return false;
      }
      return true;
    }
    const { items } = node;
    const last = items.at(-1);
    // One comparison for a leaf inside the range instead of one per entry.
    const end =
      to === undefined || (last !== undefined && this.before(last.key, to)) ? items.length : this.positionIn(items, to);
    for (let i = this.positionIn(items, from); i < end; i++) {
      into.push(items[i] as T);
      if (into.length >= limit) return false;
    }
    return end === items.length;
  }

  protected before(a: string, b: string): boolean {
    return this.wide ? compareKeys(a, b) < 0 : a < b;
  }

  /** Index of the first item ≥ `key`. */
  protected positionIn(items: readonly T[], key: string): number {
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.before((items[middle] as T).key, key)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Index of the child whose range contains `key`. */
  protected childOf(node: Inner<T>, key: string): number {
    const { starts } = node;
    let low = 1;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.before(key, starts[middle] as string)) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }
}

/**
 * An ordered map: a copy-on-write B+tree.
 *
 *   ownership   every node has the token of the tree that created it. A tree modifies nodes with its own token in place and
 *               copies other nodes on the way down.
 *   freeze      returns the root and takes a new token, so that no node of the frozen state is owned any more: the first
 *               write to a leaf after a freeze copies that leaf and its few ancestors (about 2 KiB), later writes nothing
 *   rank        inner nodes have the size of their subtree, so counting keys is O(log n)
 *   split       in halves, except at the right end of a node, where appending in order would leave every node half empty
 */
export class OrderedTree<T extends Keyed> extends OrderedView<T> {
  #owner: Owner;
  // Out parameters of #insert: a result object per level would be garbage on the write path of the watch cache.
  #replaced: T | undefined;
  #split: { readonly node: Node<T>; readonly start: string } | undefined;

  /** `owner`: the token of the nodes that the tree may modify in place. */
  constructor(root?: Node<T>, wide?: boolean, owner: Owner = {}) {
    super(root, wide);
    this.#owner = owner;
  }

  /** `items` are sorted; `wide`: some key may contain a character from U+D800 on. */
  static fromSorted<T extends Keyed>(items: readonly T[], wide: boolean): OrderedTree<T> {
    const owner: Owner = {};
    const leaves = inPieces(items).map((piece) => new Leaf(owner, piece));
    const starts = leaves.map((leaf) => leaf.items[0]?.key ?? '');
    return OrderedTree.#over(owner, leaves, starts, wide);
  }

  /** `runs` are sorted and not empty; each becomes a leaf whose entries are created on the first access. */
  static fromRuns<T extends Keyed>(runs: readonly LazyRun<T>[], wide: boolean): OrderedTree<T> {
    const owner: Owner = {};
    const leaves = runs.map((run) => new Leaf<T>(owner, run));
    const starts = runs.map(({ first }) => first);
    return OrderedTree.#over(owner, leaves.length === 0 ? [new Leaf<T>(owner, [])] : leaves, starts, wide);
  }

  static #over<T extends Keyed>(
    owner: Owner,
    leaves: readonly Node<T>[],
    firsts: readonly string[],
    wide: boolean,
  ): OrderedTree<T> {
    let nodes = leaves;
    let starts = firsts;
    while (nodes.length > 1) {
      const keys = inPieces(starts);
      nodes = inPieces(nodes).map((children, i) => {
        const size = children.reduce((sum, child) => sum + child.size, 0);
        return new Inner(owner, children, keys[i] as string[], size);
      });
      starts = keys.map((piece) => piece[0] as string);
    }
    return new OrderedTree<T>(nodes[0], wide, owner);
  }

  /** The current state; later writes copy the nodes that they modify. */
  freeze(): OrderedView<T> {
    this.#owner = {};
    return new OrderedView(this.root, this.wide);
  }

  /** Inserts or replaces; returns the replaced item. */
  set(item: T): T | undefined {
    if (!this.wide && isWide(item.key)) this.wide = true;
    this.#replaced = undefined;
    this.root = this.#insert(this.root, item);
    if (this.#split !== undefined) {
      const { node, start } = this.#split;
      this.#split = undefined;
      this.root = new Inner(this.#owner, [this.root, node], ['', start], this.root.size + node.size);
    }
    const replaced = this.#replaced;
    this.#replaced = undefined;
    return replaced;
  }

  /** Returns the removed item. */
  delete(key: string): T | undefined {
    const found = this.get(key);
    if (found === undefined) return undefined;
    this.root = this.#remove(this.root, key);
    while (this.root instanceof Inner && this.root.children.length === 1) this.root = this.root.children[0] as Node<T>;
    return found;
  }

  #insert(node: Node<T>, item: T): Node<T> {
    if (node instanceof Leaf) {
      const leaf = this.#ownLeaf(node);
      const { items } = leaf;
      const index = this.positionIn(items, item.key);
      if (items[index]?.key === item.key) {
        this.#replaced = items[index];
        items[index] = item;
        return leaf;
      }
      if (index === items.length) items.push(item);
      else items.splice(index, 0, item);
      if (items.length > fanout) {
        const right = items.splice(index === fanout ? fanout : fanout / 2);
        this.#split = { node: new Leaf(this.#owner, right), start: (right[0] as T).key };
      }
      return leaf;
    }
    const inner = this.#ownInner(node);
    const index = this.childOf(inner, item.key);
    inner.children[index] = this.#insert(inner.children[index] as Node<T>, item);
    if (this.#replaced === undefined) inner.size++;
    if (this.#split !== undefined) {
      inner.children.splice(index + 1, 0, this.#split.node);
      inner.starts.splice(index + 1, 0, this.#split.start);
      this.#split = undefined;
      if (inner.children.length > fanout) this.#splitInner(inner, index + 1);
    }
    return inner;
  }

  #splitInner(inner: Inner<T>, inserted: number): void {
    const at = inserted === fanout ? fanout : fanout / 2;
    const children = inner.children.splice(at);
    const starts = inner.starts.splice(at);
    let size = 0;
    for (const child of children) size += child.size;
    inner.size -= size;
    this.#split = { node: new Inner(this.#owner, children, starts, size), start: starts[0] as string };
  }

  #remove(node: Node<T>, key: string): Node<T> {
    if (node instanceof Leaf) {
      const leaf = this.#ownLeaf(node);
      leaf.items.splice(this.positionIn(leaf.items, key), 1);
      return leaf;
    }
    const inner = this.#ownInner(node);
    const index = this.childOf(inner, key);
    const child = this.#remove(inner.children[index] as Node<T>, key);
    inner.children[index] = child;
    inner.size--;
    const width = child instanceof Leaf ? child.items.length : child.children.length;
    if (width < minWidth) this.#shrink(inner, index, width);
    return inner;
  }

  /** Removes an empty child, or merges a narrow one with a neighbour. */
  #shrink(inner: Inner<T>, index: number, width: number): void {
    if (width === 0) {
      // The inner node itself may become empty: its parent then removes it.
      inner.children.splice(index, 1);
      inner.starts.splice(index, 1);
      return;
    }
    for (const left of [index - 1, index]) {
      const a = inner.children[left];
      const b = inner.children[left + 1];
      if (a === undefined || b === undefined) continue;
      const merged = this.#merge(a, b, inner.starts[left + 1] as string);
      if (merged === undefined) continue;
      inner.children.splice(left, 2, merged);
      inner.starts.splice(left + 1, 1);
      return;
    }
  }

  #merge(a: Node<T>, b: Node<T>, start: string): Node<T> | undefined {
    if (a instanceof Leaf && b instanceof Leaf) {
      if (a.items.length + b.items.length > mergeLimit) return undefined;
      return new Leaf(this.#owner, [...a.items, ...b.items]);
    }
    if (!(a instanceof Inner) || !(b instanceof Inner) || a.children.length + b.children.length > mergeLimit) {
      return undefined;
    }
    const starts = [...a.starts, start, ...b.starts.slice(1)];
    return new Inner(this.#owner, [...a.children, ...b.children], starts, a.size + b.size);
  }

  #ownLeaf(leaf: Leaf<T>): Leaf<T> {
    return leaf.owner === this.#owner ? leaf : new Leaf(this.#owner, leaf.items.slice());
  }

  #ownInner(inner: Inner<T>): Inner<T> {
    if (inner.owner === this.#owner) return inner;
    return new Inner(this.#owner, inner.children.slice(), inner.starts.slice(), inner.size);
  }
}

function mapped<T extends Keyed, U extends Keyed>(node: Node<T>, owner: Owner, make: (item: T) => U): Node<U> {
  if (node instanceof Leaf) {
    return new Leaf<U>(owner, { size: node.size, make: () => node.items.map((item) => make(item)) });
  }
  const children = node.children.map((child) => mapped(child, owner, make));
  return new Inner(owner, children, node.starts.slice(), node.size);
}

/** Splits into at least one piece of about equal width, with space to grow. */
function inPieces<E>(elements: readonly E[]): E[][] {
  const count = Math.max(1, Math.ceil(elements.length / mergeLimit));
  return Array.from({ length: count }, (_, i) =>
    elements.slice(Math.trunc((i * elements.length) / count), Math.trunc(((i + 1) * elements.length) / count)),
  );
}

/** True when UTF-16 and UTF-8 may order this key differently relative to another one. */
function isWide(key: string): boolean {
  for (let i = 0; i < key.length; i++) if (key.charCodeAt(i) >= 0xd800) return true;
  return false;
}

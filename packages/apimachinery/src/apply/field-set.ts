import type { JsonObject } from '../json/json.ts';
import { type PathElement, sortedElements } from './path-element.ts';
import type { TypedSchema } from './typed-schema.ts';

/**
 * A set of paths to fields, as a tree.
 *
 * A node is a place in an object; `owned` says that its own path is in the set, `children` lead further down. Sets are
 * values: no operation changes its operands, results share subtrees with them, and an operation that changes nothing
 * returns its left operand itself, so that "did anything change" is one comparison of references. Only
 * {@link FieldSet.insert} mutates a set, and only its builder may call it. A child is never empty.
 */
export class FieldSet {
  static readonly empty = new this(false, undefined);
  /** The path itself and nothing below it: what most nodes are, shared by all sets. */
  static readonly leaf = new this(true, undefined);

  /** The FieldsV1 document of the set, encoded lazily. Kept here and not in a WeakMap: see {@link RecentWeakMap}. */
  document: JsonObject | undefined;
  /** The last schema that the set was found to fit. */
  fits: TypedSchema | undefined;
  #children: Map<PathElement, FieldSet> | undefined;
  #owned: boolean;

  constructor(owned: boolean, children: Map<PathElement, FieldSet> | undefined) {
    this.#owned = owned;
    this.#children = children;
  }

  /** A node with these children; the shared instances where it can be one. */
  static node(owned: boolean, children: Map<PathElement, FieldSet> | undefined): FieldSet {
    if (children !== undefined && children.size > 0) return new FieldSet(owned, children);
    return owned ? FieldSet.leaf : FieldSet.empty;
  }

  /** The set of some paths. */
  static of(...paths: readonly (readonly PathElement[])[]): FieldSet {
    const set = new FieldSet(false, undefined);
    for (const path of paths) set.insert(path);
    return set;
  }

  get owned(): boolean {
    return this.#owned;
  }

  get children(): ReadonlyMap<PathElement, FieldSet> | undefined {
    return this.#children;
  }

  get isEmpty(): boolean {
    return !this.#owned && this.#children === undefined;
  }

  has(path: readonly PathElement[]): boolean {
    return this.at(path)?.owned === true;
  }

  /** The node at a path. */
  at(path: readonly PathElement[], from = 0): FieldSet | undefined {
    if (from === path.length) return this;
    return this.#children?.get(path[from] as PathElement)?.at(path, from + 1);
  }

  /** Adds a path to a set that is not shared yet. */
  insert(path: readonly PathElement[], from = 0): void {
    if (from === path.length) {
      this.#owned = true;
      return;
    }
    this.#children ??= new Map<PathElement, FieldSet>();
    const element = path[from] as PathElement;
    let child = this.#children.get(element);
    if (from === path.length - 1 && child === undefined) {
      this.#children.set(element, FieldSet.leaf);
      return;
    }
    if (child === undefined || child === FieldSet.leaf) {
      if (from === path.length - 1) return;
      child = new FieldSet(child !== undefined, undefined);
      this.#children.set(element, child);
    }
    child.insert(path, from + 1);
  }

  union(other: FieldSet): FieldSet {
    if (this === other || other.isEmpty) return this;
    if (this.isEmpty) return other;
    const owned = this.#owned || other.#owned;
    const [left, right] = [this.#children, other.#children];
    if (right === undefined) return owned === this.#owned ? this : new FieldSet(owned, left);
    if (left === undefined) return owned === other.#owned ? other : new FieldSet(owned, right);
    let children: Map<PathElement, FieldSet> | undefined;
    for (const [element, theirs] of right) {
      const ours = left.get(element);
      const joined = ours === undefined ? theirs : ours.union(theirs);
      if (joined !== ours) (children ??= new Map(left)).set(element, joined);
    }
    return children === undefined && owned === this.#owned ? this : new FieldSet(owned, children ?? left);
  }

  intersection(other: FieldSet): FieldSet {
    if (this === other) return this;
    const [left, right] = [this.#children, other.#children];
    let children: Map<PathElement, FieldSet> | undefined;
    if (left !== undefined && right !== undefined) {
      const [few, many] = left.size <= right.size ? [left, right] : [right, left];
      for (const [element, one] of few) {
        const two = many.get(element);
        const shared = two?.intersection(one) ?? FieldSet.empty;
        if (!shared.isEmpty) (children ??= new Map()).set(element, shared);
      }
    }
    return FieldSet.node(this.#owned && other.#owned, children);
  }

  /** Path by path: what lies below a path of the other set stays. */
  difference(other: FieldSet): FieldSet {
    return this.#without(other, false);
  }

  /** A path of the other set takes along all that lies below it. */
  recursiveDifference(other: FieldSet): FieldSet {
    return this.#without(other, true);
  }

  #without(other: FieldSet, recursive: boolean): FieldSet {
    if (this === other) return FieldSet.empty;
    if (other.#owned && recursive) return FieldSet.empty;
    const owned = this.#owned && !other.#owned;
    const [left, right] = [this.#children, other.#children];
    let children: Map<PathElement, FieldSet> | undefined;
    if (left !== undefined && right !== undefined) {
      const [few, many] = left.size <= right.size ? [left, right] : [right, left];
      let rests: Map<PathElement, FieldSet> | undefined;
      for (const element of few.keys()) {
        if (!many.has(element)) continue;
        const ours = left.get(element) as FieldSet;
        const rest = ours.#without(right.get(element) as FieldSet, recursive);
        if (rest !== ours) (rests ??= new Map()).set(element, rest);
      }
      if (rests !== undefined) children = replaced(left, rests);
    }
    return children === undefined && owned === this.#owned ? this : FieldSet.node(owned, children ?? left);
  }

  equals(other: FieldSet): boolean {
    if (this === other) return true;
    const [left, right] = [this.#children, other.#children];
    if (this.#owned !== other.#owned || left?.size !== right?.size) return false;
    if (left === undefined || right === undefined) return true;
    for (const [element, child] of left) {
      const theirs = right.get(element);
      if (theirs === undefined || !child.equals(theirs)) return false;
    }
    return true;
  }

  /** All paths, sorted: a path comes before those below it. */
  *paths(prefix: readonly PathElement[] = []): Generator<readonly PathElement[]> {
    if (this.#owned) yield prefix;
    if (this.#children === undefined) return;
    // Own paths of one level come before what lies below any of them.
    const elements = sortedElements(this.#children.keys());
    for (const element of elements) if (this.#children.get(element)?.owned === true) yield [...prefix, element];
    for (const element of elements) {
      const child = this.#children.get(element) as FieldSet;
      if (child.#children !== undefined) yield* new FieldSet(false, child.#children).paths([...prefix, element]);
    }
  }
}

/** Children with others in place of some of them; the empty ones go. In their order. */
function replaced(
  children: ReadonlyMap<PathElement, FieldSet>,
  others: ReadonlyMap<PathElement, FieldSet>,
): Map<PathElement, FieldSet> {
  // Of many, most often all go: building anew is cheaper than taking one after the other out of a copy.
  if (others.size * 4 < children.size) {
    const result = new Map(children);
    for (const [element, other] of others) {
      if (other.isEmpty) result.delete(element);
      else result.set(element, other);
    }
    return result;
  }
  const result = new Map<PathElement, FieldSet>();
  for (const [element, child] of children) {
    const rest = others.get(element) ?? child;
    if (!rest.isEmpty) result.set(element, rest);
  }
  return result;
}

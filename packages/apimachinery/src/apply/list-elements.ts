import type { Json } from '../json/json.ts';
import type { PathElement } from './path-element.ts';
import { type ListType, itemElement } from './typed-schema.ts';

/** Shorter lists are processed in one time slice. */
export const longList = 256;

/** Children processed per time slice. */
const perStep = 2_000;

/**
 * Elements of the items of long lists, computed once for all passes over one large object, valid as long as no caller
 * changes the lists: lists are known by identity.
 */
export class ListElements {
  readonly #known = new Map<readonly Json[], { readonly list: ListType; readonly elements: PathElement[] }>();

  /** The elements of a list as far as they were asked for, by position; undefined where it is not worth it. */
  of(list: ListType, items: readonly Json[]): PathElement[] | undefined {
    if (items.length < longList) return undefined;
    const known = this.#known.get(items);
    if (known !== undefined) return known.list === list ? known.elements : undefined;
    const elements: PathElement[] = [];
    this.#known.set(items, { list, elements });
    return elements;
  }
}

/** {@link itemElement} of the item at a position, looked up in what {@link ListElements.of} gave and noted there. */
export function elementAt(
  list: ListType,
  items: readonly Json[],
  index: number,
  known: PathElement[] | undefined,
): PathElement {
  const element = known?.[index];
  if (element !== undefined) return element;
  const made = itemElement(list, items[index] as Json);
  if (known !== undefined) known[index] = made;
  return made;
}

interface Work {
  readonly count: number;
  readonly one: (index: number) => void;
}

/** Deferred work on nodes with many children; the caller of the walk runs it in time slices. */
export class DeferredWork {
  readonly #works: (Work | (() => Generator<void, void>))[] = [];
  /** Children that the current step has processed. */
  #inStep = 0;

  /**
   * Counts the children of a node that the walk comes to. True if they have to be deferred: those of a wide node, and those of all nodes
   * once the step has processed many.
   */
  defers(children: number): boolean {
    this.#inStep += children;
    return children >= longList || (children > 0 && this.#inStep > perStep);
  }

  /** Will call `one` for each index below `count`; last in, first out. */
  each(count: number, one: (index: number) => void): void {
    this.#works.push({ count, one });
  }

  /** Will run the passes of a generator. */
  run(steps: () => Generator<void, void>): void {
    this.#works.push(steps);
  }

  /** Runs all deferred work, including work deferred meanwhile; yields between time slices. */
  *steps(): Generator<void, void> {
    for (let work = this.#works.pop(); work !== undefined; work = this.#works.pop()) {
      if (typeof work === 'function') {
        yield* work();
        continue;
      }
      // Works of few children share a step.
      if (work.count >= longList) this.#inStep = perStep;
      for (let index = 0; index < work.count; index++) {
        if (this.#inStep >= perStep) {
          this.#inStep = 0;
          yield;
        }
        this.#inStep++;
        work.one(index);
      }
    }
  }
}

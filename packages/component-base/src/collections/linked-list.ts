/** A place in a {@link LinkedList}. */
export interface ListElement<T> {
  readonly value: T;
  /** Leaves the list; leaving twice is leaving once. */
  remove(): void;
}

/**
 * A doubly linked list (Go's container/list), for what comes and goes with every request.
 *
 * A Set would do, but for V8's garbage: a hash table that fills up is replaced by a new one, to which the old one keeps a
 * reference, and it keeps what stood in it. As soon as one of these tables has grown old, all that follow outlive every
 * collection of the young generation, and with them all that a request ever allocated, until the next collection of the
 * whole heap: a front-proxy under load copied a third of everything it allocated, and grew by 15 MB a second. An element
 * that leaves this list keeps no reference to any other.
 */
export class LinkedList<T> implements Iterable<T> {
  #first: Element<T> | undefined;
  #last: Element<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): ListElement<T> | undefined {
    return this.#first;
  }

  /** Puts a value at the end. */
  add(value: T): ListElement<T> {
    const element = new Element(value, this.#last, this.#unlink);
    if (this.#last === undefined) this.#first = element;
    else this.#last.next = element;
    this.#last = element;
    this.#size++;
    return element;
  }

  /** In order, as they are now: values may come and go meanwhile. */
  *[Symbol.iterator](): Iterator<T> {
    const values: T[] = [];
    for (let element = this.#first; element !== undefined; element = element.next) values.push(element.value);
    yield* values;
  }

  readonly #unlink = (element: Element<T>): void => {
    const { previous, next } = element;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    this.#size--;
  };
}

class Element<T> implements ListElement<T> {
  readonly value: T;
  previous: Element<T> | undefined;
  next: Element<T> | undefined;
  #unlink: ((element: Element<T>) => void) | undefined;

  constructor(value: T, previous: Element<T> | undefined, unlink: (element: Element<T>) => void) {
    this.value = value;
    this.previous = previous;
    this.#unlink = unlink;
  }

  remove(): void {
    if (this.#unlink === undefined) return;
    this.#unlink(this);
    this.#unlink = undefined;
    this.previous = undefined;
    this.next = undefined;
  }
}

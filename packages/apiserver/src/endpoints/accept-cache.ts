/**
 * Results by the text of a header. Clients send a handful of different texts over and over; the cache starts afresh when
 * somebody sends more than `capacity`, and does not keep long ones.
 */
export class AcceptCache<V> {
  readonly #capacity: number;
  readonly #byKind = new Map<object, Map<string, V>>();
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(kind: object, text: string): V | undefined {
    return this.#byKind.get(kind)?.get(text);
  }

  set(kind: object, text: string, value: V): void {
    if (text.length > 512) return;
    if (this.#size >= this.#capacity) {
      this.#byKind.clear();
      this.#size = 0;
    }
    let texts = this.#byKind.get(kind);
    if (texts === undefined) {
      texts = new Map();
      this.#byKind.set(kind, texts);
    }
    if (!texts.has(text)) this.#size++;
    texts.set(text, value);
  }
}

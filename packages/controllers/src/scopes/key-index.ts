import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { Informer, ObjectReference } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';

const noKeys: ReadonlySet<string> = new Set();

/** Keys ({@link keyOf}) of the objects of an informer by a text that is computed from each; undefined leaves an object out. */
export class KeyIndex<T extends KubeObject> {
  readonly #textOf: (object: DeepReadonly<T>, reference: ObjectReference) => string | undefined;
  readonly #keys = new Map<string, Set<string>>();

  constructor(
    options: { readonly textOf: (object: DeepReadonly<T>, reference: ObjectReference) => string | undefined },
    modules: { readonly informer: Informer<T> },
  ) {
    this.#textOf = options.textOf;
    modules.informer.addHandlers({
      added: (object, reference) => this.#add(object, reference),
      updated: (object, old, reference) => {
        if (this.#textOf(object, reference) === this.#textOf(old, reference)) return;
        this.#delete(old, reference);
        this.#add(object, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
    });
  }

  of(text: string): ReadonlySet<string> {
    return this.#keys.get(text) ?? noKeys;
  }

  #add(object: DeepReadonly<T>, reference: ObjectReference): void {
    const text = this.#textOf(object, reference);
    if (text === undefined) return;
    const keys = this.#keys.get(text);
    if (keys === undefined) this.#keys.set(text, new Set([keyOf(reference)]));
    else keys.add(keyOf(reference));
  }

  #delete(object: DeepReadonly<T>, reference: ObjectReference): void {
    const text = this.#textOf(object, reference);
    const keys = text === undefined ? undefined : this.#keys.get(text);
    if (text !== undefined && keys?.delete(keyOf(reference)) === true && keys.size === 0) this.#keys.delete(text);
  }
}

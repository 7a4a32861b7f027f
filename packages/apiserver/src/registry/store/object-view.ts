import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import type { ObjectReader, ObjectSource } from './object-reader.ts';

/**
 * The objects of one request whose kind a webhook converts (K5.11): what is going to be read is prepared first, and is
 * held here, whatever the shared store of conversions lets go meanwhile, until it is released.
 */
export class ObjectView implements ObjectSource {
  readonly #definition: ResourceDefinition;
  readonly #reader: ObjectReader;
  readonly #signal: AbortSignal;
  readonly #held = new Map<CacheEntry, DeepReadonly<KubeObject>>();

  constructor(
    options: { readonly definition: ResourceDefinition; readonly signal: AbortSignal },
    modules: { readonly reader: ObjectReader },
  ) {
    this.#definition = options.definition;
    this.#signal = options.signal;
    this.#reader = modules.reader;
  }

  /** True for an entry that can be read at once. */
  isReady(entry: CacheEntry): boolean {
    return this.#held.has(entry) || !this.#reader.needsWebhook(this.#definition, entry);
  }

  /** Makes entries readable, in as few calls as possible. Throws what the webhook made go wrong. */
  async prepare(entries: readonly CacheEntry[]): Promise<void> {
    const wanted = entries.filter((entry) => !this.isReady(entry));
    if (wanted.length === 0) return;
    const { conversions } = this.#reader;
    const options = { signal: this.#signal, list: true };
    for (const [entry, object] of await conversions.ofEntries(this.#definition, wanted, options))
      this.#held.set(entry, object);
  }

  release(entries: readonly CacheEntry[]): void {
    for (const entry of entries) this.#held.delete(entry);
  }

  object(definition: ResourceDefinition, entry: CacheEntry): DeepReadonly<KubeObject> {
    return this.#held.get(entry) ?? this.#reader.object(definition, entry);
  }

  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined {
    return this.#reader.servableBytes(definition, entry);
  }
}

/** The view that a request needs; undefined where the reader shows everything at once. */
export function viewFor(
  definition: ResourceDefinition,
  signal: AbortSignal,
  reader: ObjectReader,
): ObjectView | undefined {
  return definition.conversion === undefined ? undefined : new ObjectView({ definition, signal }, { reader });
}

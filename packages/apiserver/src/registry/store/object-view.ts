import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { withoutPasses, type Abortable } from '../../time-slices.ts';
import { grownSize } from '../grown-objects.ts';
import type { ObjectReader } from './object-reader.ts';
import type { ObjectSource } from './object-source.ts';

/**
 * The objects of one request whose kind is converted by a webhook. {@link prepare} converts entries before they are read;
 * their objects are kept until {@link release}, even if the shared cache of conversions evicts them meanwhile.
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

  /** Whether {@link object} can be called for the entry. */
  isReady(entry: CacheEntry): boolean {
    return this.#held.has(entry) || !this.#reader.needsWebhook(this.#definition, entry);
  }

  /** Converts entries with as few webhook calls as possible. Throws the webhook's failure. */
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

  /** An object that is held is read now: it may be released before the first pass. */
  objectIncrementally(definition: ResourceDefinition, entry: CacheEntry): Generator<void, DeepReadonly<KubeObject>> {
    const held = this.#held.get(entry);
    return held === undefined ? this.#reader.objectIncrementally(definition, entry) : withoutPasses(held);
  }

  sizeOf(entry: CacheEntry): number {
    return grownSize(this.#held.get(entry), entry.value.length);
  }

  isChecked(definition: ResourceDefinition, entry: CacheEntry): boolean {
    return this.#reader.isChecked(definition, entry);
  }

  check(definition: ResourceDefinition, entry: CacheEntry, caller: Abortable): Promise<void> | undefined {
    return this.#reader.check(definition, entry, caller);
  }

  load(entry: CacheEntry, caller: Abortable): Promise<void> | undefined {
    return this.#held.has(entry) ? undefined : this.#reader.load(entry, caller);
  }

  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined {
    return this.#reader.servableBytes(definition, entry);
  }
}

/** A view for a request; undefined for kinds without a conversion webhook, which the reader reads synchronously. */
export function viewFor(
  definition: ResourceDefinition,
  signal: AbortSignal,
  reader: ObjectReader,
): ObjectView | undefined {
  return definition.conversion === undefined ? undefined : new ObjectView({ definition, signal }, { reader });
}

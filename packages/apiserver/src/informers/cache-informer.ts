import { type DeepReadonly, type KubeObject, type LogicalClusterName, deepFreeze } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Informer, InformerHandlers, ObjectReference } from '@multiplane/client';
import {
  type CacheEntry,
  type WatchCache,
  hasObjectKey,
  listPrefix,
  objectKey,
  parseObjectKey,
} from '@multiplane/storage';
import { isUndecryptable } from '../registry/codec/stored-layout.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import { CacheSubscription } from './cache-subscription.ts';
import { identitySegments } from './identity-segments.ts';

export interface CacheInformerOptions {
  /** The key prefix of the resource. */
  readonly prefix: string;
  /** The definition of a built-in kind, whose version objects are returned in; undefined: their storage version. */
  readonly definition: ResourceDefinition | undefined;
  /** Keys have a segment before the cluster: `customresources`, or the identity of a bound resource. */
  readonly hasIdentities?: boolean | undefined;
}

/** An entry with its decoded object. */
interface DecodedEntry<T extends KubeObject> {
  readonly entry: CacheEntry;
  /** Undefined for a key that is not of an object. */
  readonly reference: ObjectReference | undefined;
  object: DeepReadonly<T> | undefined;
}

/**
 * An informer for one resource over all logical clusters that reads the watch cache of the server, without a store of its
 * own. Objects are parsed on first use and shared by all readers.
 */
export class CacheInformer<T extends KubeObject> implements Informer<T> {
  readonly #prefix: string;
  readonly #definition: ResourceDefinition | undefined;
  readonly #hasIdentities: boolean;
  readonly #cache: WatchCache;
  readonly #reader: ObjectReader;
  /** The last two entries, because each event is delivered to several handlers one after the other. */
  readonly #recent: (DecodedEntry<T> | undefined)[] = [undefined, undefined];
  #next = 0;
  /** Converted objects by their stored form, for as long as that is cached. */
  readonly #converted = new WeakMap<DeepReadonly<KubeObject>, DeepReadonly<KubeObject>>();

  constructor(options: CacheInformerOptions, modules: { readonly cache: WatchCache; readonly reader: ObjectReader }) {
    this.#prefix = options.prefix;
    this.#definition = options.definition;
    this.#hasIdentities = options.hasIdentities ?? false;
    this.#cache = modules.cache;
    this.#reader = modules.reader;
  }

  get synced(): Promise<void> {
    return this.#cache.ready;
  }

  get(reference: ObjectReference): DeepReadonly<T> | undefined {
    if (!hasObjectKey(reference)) return undefined;
    const entry = this.#hasIdentities ? this.#find(reference) : this.#cache.peek(objectKey(this.#prefix, reference));
    return entry === undefined ? undefined : this.#readable(entry);
  }

  list(
    scope: { readonly cluster?: LogicalClusterName | undefined; readonly namespace?: string | undefined } = {},
  ): DeepReadonly<T>[] {
    const { cluster, namespace } = scope;
    const prefixes =
      cluster === undefined
        ? [this.#prefix]
        : Array.from(this.#prefixes(), (prefix) => listPrefix(prefix, cluster, namespace));
    const objects: DeepReadonly<T>[] = [];
    for (const prefix of prefixes) {
      for (const entry of this.#cache.listCurrent(prefix)) {
        if (cluster === undefined && namespace !== undefined && this.#referenceOf(entry.key)?.namespace !== namespace)
          continue;
        const object = this.#readable(entry);
        if (object !== undefined) objects.push(object);
      }
    }
    return objects;
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const subscription = new CacheSubscription(
      { scope: this.#prefix },
      {
        cache: this.#cache,
        handler: {
          load: (entry) => this.#reader.load(entry, {}),
          changed: (current, previous, isInInitialList) => {
            const now = this.#decode(current);
            if (now.reference === undefined) return;
            const object = this.#readable(current, () => this.#current(now));
            if (object === undefined) return;
            const before = previous && this.#readable(previous, () => this.#previous(this.#decode(previous)));
            if (before === undefined) handlers.added?.(object, now.reference, isInInitialList);
            else handlers.updated?.(object, before, now.reference);
          },
          removed: (previous) => {
            const last = this.#decode(previous);
            const object = last.reference && this.#readable(previous, () => this.#previous(last));
            if (object !== undefined && last.reference !== undefined) handlers.deleted?.(object, last.reference);
          },
        },
      },
    );
    return subscription.whenSynced(() => handlers.synced?.());
  }

  /** Undefined for an object that the store cannot decrypt: controllers work on without it, requests for it fail. */
  #readable(entry: CacheEntry, read = (): DeepReadonly<T> => this.#object(entry)): DeepReadonly<T> | undefined {
    try {
      return read();
    } catch (error) {
      if (isUndecryptable(entry.value)) return undefined;
      throw error;
    }
  }

  #find(reference: ObjectReference): CacheEntry | undefined {
    for (const prefix of this.#prefixes()) {
      const entry = this.#cache.peek(objectKey(prefix, reference));
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** The key prefixes before the cluster. */
  *#prefixes(): IterableIterator<string> {
    if (!this.#hasIdentities) {
      yield this.#prefix;
      return;
    }
    for (const segment of identitySegments(this.#cache, this.#prefix)) yield `${this.#prefix}${segment}/`;
  }

  #referenceOf(key: string): ObjectReference | undefined {
    const prefix = this.#hasIdentities ? key.slice(0, key.indexOf('/', this.#prefix.length) + 1) : this.#prefix;
    return parseObjectKey(prefix, key);
  }

  #decode(entry: CacheEntry): DecodedEntry<T> {
    const [first, second] = this.#recent;
    if (first?.entry === entry) return first;
    if (second?.entry === entry) return second;
    const decoded = { entry, reference: this.#referenceOf(entry.key), object: undefined };
    this.#recent[this.#next] = decoded;
    this.#next = 1 - this.#next;
    return decoded;
  }

  #current(decoded: DecodedEntry<T>): DeepReadonly<T> {
    return (decoded.object ??= this.#object(decoded.entry));
  }

  /** The object of an entry that was replaced or deleted. */
  #previous(decoded: DecodedEntry<T>): DeepReadonly<T> {
    return (decoded.object ??= this.#object(decoded.entry, this.#reader.past(decoded.entry)));
  }

  #object(entry: CacheEntry, stored = this.#reader.stored(entry)): DeepReadonly<T> {
    return (
      this.#definition === undefined ? stored : this.#convertedOf(stored, entry, this.#definition)
    ) as DeepReadonly<T>;
  }

  #convertedOf(
    stored: DeepReadonly<KubeObject>,
    entry: CacheEntry,
    definition: ResourceDefinition,
  ): DeepReadonly<KubeObject> {
    const known = this.#converted.get(stored);
    if (known !== undefined) return known;
    const object = this.#reader.object(definition, entry, stored);
    if (object !== stored) this.#converted.set(stored, deepFreeze(object));
    return object;
  }
}

import { type DeepReadonly, type KubeObject, type LogicalClusterName, deepFreeze } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Informer, InformerHandlers, ObjectReference } from '@multiplane/client';
import { type CacheEntry, type WatchCache, listPrefix, objectKey, parseObjectKey } from '@multiplane/storage';
import type { ObjectReader } from '../registry/object-reader.ts';
import { CacheSubscription } from './cache-subscription.ts';
import { identitySegments } from './identity-segments.ts';

export interface CacheInformerOptions {
  /** Prefix of the keys of the resource. */
  readonly prefix: string;
  /** Of a built-in kind: its version is shown; absent: objects are shown as they are stored. */
  readonly definition: ResourceDefinition | undefined;
  /** Before the cluster the keys have a segment more: `customresources`, or the identity of what is bound (C4.1). */
  readonly hasIdentities?: boolean | undefined;
}

/** What handlers are told of an entry. */
interface Seen<T extends KubeObject> {
  readonly entry: CacheEntry;
  /** Undefined for a key that is no object's. */
  readonly reference: ObjectReference | undefined;
  object: DeepReadonly<T> | undefined;
}

/**
 * Objects of one resource over all logical clusters, read straight from the watch cache: no second copy. Objects are
 * parsed when somebody looks, and shared by all who look.
 */
export class CacheInformer<T extends KubeObject> implements Informer<T> {
  readonly #prefix: string;
  readonly #definition: ResourceDefinition | undefined;
  readonly #hasIdentities: boolean;
  readonly #cache: WatchCache;
  readonly #reader: ObjectReader;
  /** What was told last: one event goes to many handlers, one after the other. */
  readonly #recent: (Seen<T> | undefined)[] = [undefined, undefined];
  #next = 0;
  /** What is shown otherwise than it is stored (with defaults): as long as what is stored is kept parsed. */
  readonly #shown = new WeakMap<DeepReadonly<KubeObject>, DeepReadonly<KubeObject>>();

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
    if (reference.name === '' || reference.name.includes('/') || reference.namespace.includes('/')) return undefined;
    const entry = this.#hasIdentities ? this.#find(reference) : this.#cache.peek(objectKey(this.#prefix, reference));
    return entry === undefined ? undefined : this.#object(entry);
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
      for (const entry of this.#cache.present(prefix)) {
        if (cluster === undefined && namespace !== undefined && this.#referenceOf(entry.key)?.namespace !== namespace)
          continue;
        objects.push(this.#object(entry));
      }
    }
    return objects;
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    const subscription = new CacheSubscription(
      { scope: this.#prefix },
      {
        cache: this.#cache,
        follower: {
          changed: (current, previous, wasThere) => {
            const now = this.#see(current);
            if (now.reference === undefined) return;
            if (previous === undefined) handlers.added?.(this.#told(now), now.reference, wasThere);
            else handlers.updated?.(this.#told(now), this.#last(this.#see(previous)), now.reference);
          },
          removed: (previous) => {
            const last = this.#see(previous);
            if (last.reference !== undefined) handlers.deleted?.(this.#last(last), last.reference);
          },
        },
      },
    );
    return subscription.whenSynced(() => handlers.synced?.());
  }

  #find(reference: ObjectReference): CacheEntry | undefined {
    for (const prefix of this.#prefixes()) {
      const entry = this.#cache.peek(objectKey(prefix, reference));
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** What comes before the clusters in the keys. */
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

  #see(entry: CacheEntry): Seen<T> {
    const [first, second] = this.#recent;
    if (first?.entry === entry) return first;
    if (second?.entry === entry) return second;
    const seen = { entry, reference: this.#referenceOf(entry.key), object: undefined };
    this.#recent[this.#next] = seen;
    this.#next = 1 - this.#next;
    return seen;
  }

  #told(seen: Seen<T>): DeepReadonly<T> {
    return (seen.object ??= this.#object(seen.entry));
  }

  /** Of what is past. */
  #last(seen: Seen<T>): DeepReadonly<T> {
    return (seen.object ??= this.#object(seen.entry, this.#reader.past(seen.entry)));
  }

  #object(entry: CacheEntry, stored = this.#reader.stored(entry)): DeepReadonly<T> {
    return (
      this.#definition === undefined ? stored : this.#shownOf(stored, entry, this.#definition)
    ) as DeepReadonly<T>;
  }

  #shownOf(
    stored: DeepReadonly<KubeObject>,
    entry: CacheEntry,
    definition: ResourceDefinition,
  ): DeepReadonly<KubeObject> {
    const known = this.#shown.get(stored);
    if (known !== undefined) return known;
    const object = this.#reader.object(definition, entry, stored);
    if (object !== stored) this.#shown.set(stored, deepFreeze(object));
    return object;
  }
}

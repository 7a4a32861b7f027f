import {
  type DeepReadonly,
  type KubeObject,
  deepFreeze,
  parseJson,
  parseJsonIncrementally,
} from '@multiplane/apimachinery';
import { unreadable } from '../codec/stored-layout.ts';
import type { StoredValue } from '@multiplane/storage';
import { LRUCache } from 'lru-cache';

/** One version of an object; frozen on first use, because few objects are read again after they were written. */
class Slot {
  readonly key: string;
  readonly size: number;
  readonly conformance: string | undefined;
  /** The period of its last use; see {@link DecodedObjects.releaseUnused}. */
  usedIn = 0;
  readonly #revision: number;
  #unfrozen: KubeObject | undefined;
  #object: DeepReadonly<KubeObject> | undefined;

  constructor(key: string, revision: number, size: number, unfrozen: KubeObject, conformance: string | undefined) {
    this.key = key;
    this.size = size;
    this.conformance = conformance;
    this.#revision = revision;
    this.#unfrozen = unfrozen;
  }

  get object(): DeepReadonly<KubeObject> {
    if (this.#unfrozen !== undefined) {
      this.#object = deepFreeze(withRevision(this.#unfrozen, this.#revision));
      this.#unfrozen = undefined;
    }
    return this.#object as DeepReadonly<KubeObject>;
  }

  /** Frozen, without freezing the rest of the object, which may be large. */
  get metadata(): DeepReadonly<KubeObject['metadata']> {
    return this.#unfrozen === undefined
      ? (this.#object as DeepReadonly<KubeObject>).metadata
      : deepFreeze(withRevision(this.#unfrozen, this.#revision).metadata);
  }

  get isFrozen(): boolean {
    return this.#unfrozen === undefined;
  }
}

/** An object whose write is in flight. */
interface Announcement {
  readonly bytes: Buffer;
  readonly object: KubeObject;
  readonly conformance: string | undefined;
}

/** Approximate bytes of memory per byte of JSON of a parsed object; measured with the built-in kinds. */
const bytesPerJsonByte = 4;

/**
 * An LRU cache of parsed objects in their storage version, with their resourceVersion, frozen and shared by admission,
 * controllers and all responses that convert or transform.
 *
 * The key is the revision, which identifies one version of one object. Evicted objects are parsed again when needed. A
 * writer announces its object before the write: the event may reach readers before the writer knows the revision, and
 * they should not parse bytes that were just encoded.
 */
export class DecodedObjects {
  readonly #slots: LRUCache<number, Slot>;
  readonly #announced = new Map<string, Announcement>();
  #period = 0;

  constructor({ maxBytes }: { readonly maxBytes: number }) {
    this.#slots = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ size }) => size });
  }

  /** Estimated memory of the objects in bytes. */
  get bytes(): number {
    return this.#slots.calculatedSize;
  }

  /**
   * Drops objects that were not used since the previous call, and starts the next period. After many writes the cache is full
   * of objects that may not exist any more.
   */
  releaseUnused(): void {
    const unused: number[] = [];
    for (const revision of this.#slots.rkeys()) {
      // All further ones were used later.
      if ((this.#slots.peek(revision)?.usedIn ?? 0) >= this.#period) break;
      unused.push(revision);
    }
    for (const revision of unused) this.#slots.delete(revision);
    this.#period++;
  }

  /** The object of a revision if it is cached; does not count as a use. */
  peek(key: string, revision: number): DeepReadonly<KubeObject> | undefined {
    const slot = this.#slots.peek(revision);
    return slot?.key === key ? slot.object : undefined;
  }

  /** The metadata of a stored value if its object is cached or its write is in flight; in flight it has no resourceVersion. */
  knownMetadata({ key, revision, value }: StoredValue): DeepReadonly<KubeObject['metadata']> | undefined {
    const slot = this.#slots.peek(revision);
    if (slot?.key === key) return slot.metadata;
    const announced = this.#announced.get(key);
    return announced?.bytes.equals(value) === true ? announced.object.metadata : undefined;
  }

  /**
   * The object of a stored value that was replaced or deleted. It is parsed if necessary but not cached, so that it does not
   * evict a current object.
   */
  past(stored: StoredValue): DeepReadonly<KubeObject> {
    const { key, revision, value } = stored;
    return this.peek(key, revision) ?? deepFreeze(withRevision(parseStored(key, value), revision));
  }

  /** The object of a stored value. */
  get(stored: StoredValue): DeepReadonly<KubeObject> {
    const { key, revision, value } = stored;
    const slot = this.#slots.get(revision);
    if (slot?.key === key) {
      slot.usedIn = this.#period;
      return slot.object;
    }
    return (this.#keepAnnounced(stored) ?? this.#keep(key, revision, value.length, parseStored(key, value))).object;
  }

  /** Whether {@link get} returns the object of a stored value at once. */
  isLoaded({ key, revision }: StoredValue): boolean {
    const slot = this.#slots.peek(revision);
    return slot?.key === key && slot.isFrozen;
  }

  /** Parses, freezes and caches a stored value in passes, so that {@link get} takes no long step for a large one. */
  *load(stored: StoredValue): Generator<void, void> {
    const { key, revision, value } = stored;
    if (value[0] === encryptedByte) return;
    let slot = this.#slots.peek(revision);
    if (slot?.key !== key) slot = this.#keepAnnounced(stored);
    if (slot === undefined) {
      const parsed = yield* parseJsonIncrementally(value, false);
      yield;
      slot = this.#keep(key, revision, value.length, parsed.value as unknown as KubeObject);
    }
    yield;
    void slot.object;
  }

  /** Hash of the schema that a cached revision conforms to, if its writer announced it. */
  conformanceOf(key: string, revision: number): string | undefined {
    const slot = this.#slots.peek(revision);
    return slot?.key === key ? slot.conformance : undefined;
  }

  /**
   * Runs a write with its object announced; the caller must not modify the object afterwards. Concurrent writes of one key
   * are distinguished by their bytes: the later announcement wins, and readers of the other write parse. The object is
   * cached after the write, because the next update needs it, with the decoded sets of its managedFields. `conformance`: the
   * hash of the schema that the object conforms to unchanged, if known.
   */
  async announce(
    key: string,
    bytes: Buffer,
    object: KubeObject,
    write: () => Promise<number>,
    conformance?: string,
  ): Promise<number> {
    const announcement = { bytes, object, conformance };
    this.#announced.set(key, announcement);
    try {
      const revision = await write();
      if (this.#slots.peek(revision)?.key !== key) this.#keep(key, revision, bytes.length, object, conformance);
      return revision;
    } finally {
      if (this.#announced.get(key) === announcement) this.#announced.delete(key);
    }
  }

  /** Caches the object of a write in flight; undefined if this value is not being written. */
  #keepAnnounced({ key, revision, value }: StoredValue): Slot | undefined {
    const announced = this.#announced.get(key);
    return announced?.bytes.equals(value) === true
      ? this.#keep(key, revision, value.length, announced.object, announced.conformance)
      : undefined;
  }

  #keep(key: string, revision: number, length: number, object: KubeObject, conformance?: string): Slot {
    const slot = new Slot(key, revision, length * bytesPerJsonByte, object, conformance);
    slot.usedIn = this.#period;
    this.#slots.set(revision, slot);
    return slot;
  }
}

function withRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** Throws a Status for a value that the store could not decrypt. */
function parseStored(key: string, value: Buffer): KubeObject {
  // JSON never starts with this byte.
  if (value[0] === encryptedByte) throw unreadable(value, 'object', key);
  return parseJson(value) as unknown as KubeObject;
}

/** The `k` of `k8s:enc:`. */
const encryptedByte = 0x6b;

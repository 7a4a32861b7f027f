import { type DeepReadonly, type KubeObject, deepFreeze, parseJson } from '@multiplane/apimachinery';
import type { StoredValue } from '@multiplane/storage';

interface Slot {
  readonly key: string;
  readonly object: DeepReadonly<KubeObject>;
  readonly size: number;
}

/** How many bytes of memory a parsed object takes per byte of its JSON, roughly; measured on the built-in kinds. */
const bytesPerJsonByte = 4;

/**
 * Parsed objects as they are stored, with their resourceVersion, frozen and shared by admission, controllers and every
 * response that must transform.
 *
 * A revision names one version of one object, so it is the key. Least recently used objects go first when the bound is
 * exceeded; a lost one is parsed again. A writer announces its object before it writes: the event of the write may reach
 * readers before the writer knows the revision, and they should not parse what was just encoded.
 */
export class DecodedObjects {
  readonly #slots = new Map<number, Slot>();
  readonly #announced = new Map<string, { readonly bytes: Buffer; readonly object: KubeObject }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(options: { readonly maxBytes: number }) {
    this.#maxBytes = options.maxBytes;
  }

  /** Bytes that the objects take, by estimate. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The object of a version if it is at hand. */
  peek(key: string, revision: number): DeepReadonly<KubeObject> | undefined {
    const slot = this.#slots.get(revision);
    return slot?.key === key ? slot.object : undefined;
  }

  /** The object of a stored value. */
  get(stored: StoredValue): DeepReadonly<KubeObject> {
    const { key, revision } = stored;
    const slot = this.#slots.get(revision);
    if (slot !== undefined && slot.key === key) {
      this.#slots.delete(revision);
      this.#slots.set(revision, slot);
      return slot.object;
    }
    const { value } = stored;
    const announced = this.#announced.get(key);
    const object =
      announced !== undefined && announced.bytes.equals(value)
        ? announced.object
        : (parseJson(value) as unknown as KubeObject);
    return this.#keep(key, revision, value.length, object);
  }

  /**
   * Runs a write of an object that nobody changes any more, announced while it runs. Two writes of one key at once are
   * told apart by their bytes; the later announcement wins, the other's readers parse.
   */
  async announce(key: string, bytes: Buffer, object: KubeObject, write: () => Promise<number>): Promise<number> {
    const announcement = { bytes, object };
    this.#announced.set(key, announcement);
    try {
      const revision = await write();
      if (this.#slots.get(revision)?.key !== key) this.#keep(key, revision, bytes.length, object);
      return revision;
    } finally {
      if (this.#announced.get(key) === announcement) this.#announced.delete(key);
    }
  }

  #keep(key: string, revision: number, length: number, object: KubeObject): DeepReadonly<KubeObject> {
    const frozen = deepFreeze({
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(revision) },
    });
    const slot: Slot = { key, object: frozen, size: length * bytesPerJsonByte };
    this.#bytes += slot.size - (this.#slots.get(revision)?.size ?? 0);
    this.#slots.set(revision, slot);
    if (this.#bytes > this.#maxBytes) this.#shrink(revision);
    return frozen;
  }

  /**
   * Lets an eighth go at once: each walk begins at the places of those that went before, which the map still has until
   * it is built anew.
   */
  #shrink(keep: number): void {
    const enough = this.#maxBytes - this.#maxBytes / 8;
    for (const [revision, slot] of this.#slots) {
      if (this.#bytes <= enough) return;
      if (revision === keep) continue;
      this.#slots.delete(revision);
      this.#bytes -= slot.size;
    }
  }
}

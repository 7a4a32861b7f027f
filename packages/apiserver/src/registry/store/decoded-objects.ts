import { type DeepReadonly, type KubeObject, deepFreeze, parseJson } from '@multiplane/apimachinery';
import type { StoredValue } from '@multiplane/storage';
import { RecentlyUsed } from '../recently-used.ts';

/** One version of an object. It gets its frozen form when somebody looks: few objects are read after they were made. */
class Slot {
  readonly key: string;
  readonly size: number;
  readonly conformance: string | undefined;
  readonly #revision: number;
  #written: KubeObject | undefined;
  #object: DeepReadonly<KubeObject> | undefined;

  constructor(key: string, revision: number, size: number, written: KubeObject, conformance: string | undefined) {
    this.key = key;
    this.size = size;
    this.conformance = conformance;
    this.#revision = revision;
    this.#written = written;
  }

  get object(): DeepReadonly<KubeObject> {
    if (this.#written !== undefined) {
      this.#object = frozen(this.#written, this.#revision);
      this.#written = undefined;
    }
    return this.#object as DeepReadonly<KubeObject>;
  }
}

interface Announcement {
  readonly bytes: Buffer;
  readonly object: KubeObject;
  readonly conformance: string | undefined;
}

/** How many bytes of memory a parsed object takes per byte of its JSON, roughly; measured on the built-in kinds. */
const bytesPerJsonByte = 4;

/**
 * Parsed objects as they are stored, with their resourceVersion, frozen and shared by admission, controllers and every
 * response that must transform.
 *
 * A revision names one version of one object, so it is the key. Objects that nobody used lately go first when the bound is
 * exceeded; a lost one is parsed again. A writer announces its object before it writes: the event of the write may reach
 * readers before the writer knows the revision, and they should not parse what was just encoded.
 */
export class DecodedObjects {
  readonly #slots: RecentlyUsed<number, Slot>;
  readonly #announced = new Map<string, Announcement>();

  constructor({ maxBytes }: { readonly maxBytes: number }) {
    this.#slots = new RecentlyUsed(maxBytes, ({ size }) => size);
  }

  /** Bytes that the objects take, by estimate. */
  get bytes(): number {
    return this.#slots.weight;
  }

  /** The object of a version if it is at hand. */
  peek(key: string, revision: number): DeepReadonly<KubeObject> | undefined {
    const slot = this.#slots.peek(revision);
    return slot?.key === key ? slot.object : undefined;
  }

  /** The object of a stored value if nobody has to parse it; without its resourceVersion while it is being written. */
  known({ key, revision, value }: StoredValue): DeepReadonly<KubeObject> | undefined {
    const kept = this.peek(key, revision);
    if (kept !== undefined) return kept;
    const announced = this.#announced.get(key);
    return announced?.bytes.equals(value) === true ? announced.object : undefined;
  }

  /**
   * The object of a stored value that is past, replaced or removed: what is not at hand is parsed and not kept, for those
   * that are would make room for what nobody asks for any more.
   */
  past(stored: StoredValue): DeepReadonly<KubeObject> {
    const { key, revision, value } = stored;
    return this.peek(key, revision) ?? frozen(parseJson(value) as unknown as KubeObject, revision);
  }

  /** The object of a stored value. */
  get(stored: StoredValue): DeepReadonly<KubeObject> {
    const { key, revision } = stored;
    const slot = this.#slots.get(revision);
    if (slot?.key === key) return slot.object;
    const { value } = stored;
    const announced = this.#announced.get(key);
    return announced !== undefined && announced.bytes.equals(value)
      ? this.#keep(key, revision, value.length, announced.object, announced.conformance).object
      : this.#keep(key, revision, value.length, parseJson(value) as unknown as KubeObject).object;
  }

  /** Hash of the schema that a version is known to satisfy, if its writer said so and it is at hand. */
  conformanceOf(key: string, revision: number): string | undefined {
    const slot = this.#slots.peek(revision);
    return slot?.key === key ? slot.conformance : undefined;
  }

  /**
   * Runs a write of an object that nobody changes any more, announced while it runs. Two writes of one key at once are
   * told apart by their bytes; the later announcement wins, the other's readers parse. The object stays at hand: whoever
   * updates it next would have to parse it, and above all who owns which of its fields. A writer that knows tells the hash
   * of the schema that the object satisfies unchanged.
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

  #keep(key: string, revision: number, length: number, object: KubeObject, conformance?: string): Slot {
    const slot = new Slot(key, revision, length * bytesPerJsonByte, object, conformance);
    this.#slots.set(revision, slot);
    return slot;
  }
}

function frozen(object: KubeObject, revision: number): DeepReadonly<KubeObject> {
  return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } });
}

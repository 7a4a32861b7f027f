import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  apiVersionOf,
  asJson,
  runToCompletion,
  deepCopy,
  deepEqual,
  deepFreeze,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, WebhookConversion } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import { type Abortable, isLarge, whileTimeLasts } from '../../time-slices.ts';
import { KeptBytes } from './kept-bytes.ts';
import { encodeForWire } from '../codec/object-codec.ts';
import { identityOf, withRevision } from '../codec/stored-layout.ts';
import type { ObjectConversions } from '../conversion/object-conversions.ts';
import { fromStorage, fromStorageIncrementally, toStorage } from '../conversion/storage-version.ts';
import type { DecodedObjects } from './decoded-objects.ts';
import { entryMetadataOf } from './entry-metadata.ts';
import { ListBlocks } from './list-blocks.ts';
import type { ObjectSource } from './object-source.ts';

const never = new AbortController().signal;
/** Capacity of the cache of encoded list segments. */
const listBytes = 16 * 1024 * 1024;

/**
 * Reads stored objects in the version of a definition.
 *
 * Clients receive the stored bytes wherever those need no conversion ({@link servableBytes}): always for a built-in kind in
 * its storage version. A custom resource must also conform to the current schema, which may have gained defaults or lost
 * fields since the object was written; this is checked once per cache entry, and the result is kept on the entry.
 * Objects that a webhook converts are read asynchronously: one by {@link read}, many by an ObjectView.
 */
export class ObjectReader implements ObjectSource {
  readonly decoded: DecodedObjects;
  /** Absent where encoded lists are not worth their memory. */
  readonly listBlocks: ListBlocks | undefined;
  /** The same in protobuf, where encoding costs ten times as much as in JSON. */
  readonly protobufListBlocks: ListBlocks | undefined;
  /** The same for the initial events of watches in JSON. */
  readonly eventBlocks: ListBlocks | undefined;
  /** Of the lists in protobuf that are being written. */
  readonly keptBytes = new KeptBytes();
  readonly #conversions: ObjectConversions | undefined;
  readonly #sameShape = new WeakMap<ResourceDefinition, boolean>();
  /** Large entries that are being parsed. */
  readonly #loading = new Map<CacheEntry, Promise<void>>();

  /**
   * Without `conversions`, kinds with a conversion webhook are served in their storage version only. `keepsLists: false` is
   * for entries that are made while they are read: of those no encoded segments of lists are kept.
   */
  constructor(modules: {
    readonly decoded: DecodedObjects;
    readonly conversions?: ObjectConversions | undefined;
    readonly keepsLists?: boolean | undefined;
  }) {
    this.decoded = modules.decoded;
    this.#conversions = modules.conversions;
    if (modules.keepsLists === false) return;
    this.listBlocks = new ListBlocks({ maxBytes: listBytes });
    this.protobufListBlocks = new ListBlocks({ maxBytes: listBytes });
    this.eventBlocks = new ListBlocks({ maxBytes: listBytes });
  }

  /** Drops cached objects and list segments that were not used since the previous call. */
  releaseUnused(): void {
    this.decoded.releaseUnused();
    this.listBlocks?.releaseUnused();
    this.protobufListBlocks?.releaseUnused();
    this.eventBlocks?.releaseUnused();
  }

  /** Throws an untyped 500 without `conversions`. */
  get conversions(): ObjectConversions {
    if (this.#conversions === undefined) throw statusErrors.untyped('conversion webhooks are not called here');
    return this.#conversions;
  }

  /** Whether a webhook must convert the entry for this definition. */
  needsWebhook(definition: ResourceDefinition, entry: CacheEntry): boolean {
    return definition.conversion !== undefined && identityOf(entry.value).apiVersion !== apiVersionOf(definition);
  }

  /**
   * The object in the version of the definition, converted by a webhook if necessary; frozen and shared, or a fresh copy.
   * Reads `caller.signal` only before calling a webhook: creating an AbortController costs more than reading most objects.
   */
  async read(
    definition: ResourceDefinition,
    entry: CacheEntry,
    caller: { readonly signal: AbortSignal },
  ): Promise<DeepReadonly<KubeObject>> {
    if (!this.needsWebhook(definition, entry)) {
      if (!isLarge(entry.value.length)) return this.object(definition, entry);
      await this.load(entry, caller);
      return whileTimeLasts(this.objectIncrementally(definition, entry), caller);
    }
    const converted = await this.conversions.ofEntries(definition, [entry], { signal: caller.signal, list: false });
    return converted.get(entry) as DeepReadonly<KubeObject>;
  }

  /** The object in its storage version, with its resourceVersion; frozen and shared. */
  readonly stored = (entry: CacheEntry): DeepReadonly<KubeObject> => this.decoded.get(entry);

  /**
   * Parses a large entry in time slices before one of the methods that return objects; undefined for a small one, which they
   * parse themselves, and for one that is parsed already. Concurrent callers share the work: watches that begin together read
   * the same entries at the same time.
   */
  load(entry: CacheEntry, caller: Abortable): Promise<void> | undefined {
    return isLarge(entry.value.length) && !this.decoded.isLoaded(entry) ? this.#load(entry, caller) : undefined;
  }

  async #load(entry: CacheEntry, caller: Abortable): Promise<void> {
    // The other caller may leave: then the next one that waited continues.
    for (let other = this.#loading.get(entry); other !== undefined; other = this.#loading.get(entry))
      await other.catch(() => undefined);
    const loading = whileTimeLasts(this.decoded.load(entry), caller);
    this.#loading.set(entry, loading);
    try {
      await loading;
    } finally {
      if (this.#loading.get(entry) === loading) this.#loading.delete(entry);
    }
  }

  /** {@link stored} for an entry that was replaced or deleted. */
  readonly past = (entry: CacheEntry): DeepReadonly<KubeObject> => this.decoded.past(entry);

  /**
   * The object in the version of the definition, pruned and defaulted by its schema; frozen and shared, or a fresh copy.
   * `stored` is the object in its storage version, if the caller has it.
   */
  object(definition: ResourceDefinition, entry: CacheEntry, stored = this.stored(entry)): DeepReadonly<KubeObject> {
    if (this.needsWebhook(definition, entry))
      throw new TypeError('the object must be converted by a webhook before it is read');
    return this.servableBytes(definition, entry) === undefined ? this.#convert(definition, stored) : stored;
  }

  *objectIncrementally(definition: ResourceDefinition, entry: CacheEntry): Generator<void, DeepReadonly<KubeObject>> {
    if (this.needsWebhook(definition, entry))
      throw new TypeError('the object must be converted by a webhook before it is read');
    if (this.#isUnknown(definition, entry)) yield* this.#conforms(definition, entry);
    const stored = this.stored(entry);
    if (this.servableBytes(definition, entry) !== undefined) return stored;
    const copy = deepCopy<JsonObject>(asJson(stored as KubeObject));
    yield;
    return yield* fromStorageIncrementally(definition, copy as unknown as KubeObject);
  }

  sizeOf({ value }: CacheEntry): number {
    return value.length;
  }

  isChecked(definition: ResourceDefinition, entry: CacheEntry): boolean {
    return this.needsWebhook(definition, entry) || !this.#isUnknown(definition, entry);
  }

  /** The stored bytes (without revision) if a client of this definition receives exactly those. */
  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined {
    if (!this.isStoredVersion(definition)) return undefined;
    if (definition.origin === 'built-in') return entry.value;
    if (this.needsWebhook(definition, entry)) return undefined;
    if (this.#isUnknown(definition, entry)) runToCompletion(this.#conforms(definition, entry));
    return entryMetadataOf(entry).conformance === definition.schema.hash ? entry.value : undefined;
  }

  /** Whether the entry has not been checked against the current schema yet. */
  #isUnknown(definition: ResourceDefinition, entry: CacheEntry): boolean {
    if (definition.origin === 'built-in' || !this.isStoredVersion(definition)) return false;
    const known = entryMetadataOf(entry);
    if (known.conformance === undefined) {
      const announced = this.decoded.conformanceOf(entry.key, entry.revision);
      if (announced !== undefined) known.conformance = announced;
    }
    const { conformance } = known;
    const { hash } = definition.schema;
    return conformance !== hash && (conformance === undefined || conformance.slice(1) !== hash);
  }

  /** The hash of the schema that the object still conforms to after a write that only marks it for deletion; if known. */
  conformanceWhenMarked(definition: ResourceDefinition, existing: CacheEntry): string | undefined {
    if (definition.origin === 'built-in' || definition.strategy.beginDeletion !== undefined) return undefined;
    const { hash } = definition.schema;
    return this.isStoredVersion(definition) && entryMetadataOf(existing).conformance === hash ? hash : undefined;
  }

  /**
   * Checks an entry against the current schema; a generator that yields between passes. Stored objects are frozen.
   */
  *#conforms(definition: ResourceDefinition, entry: CacheEntry): Generator<void, void> {
    const stored = asJson(this.stored(entry) as KubeObject);
    yield;
    entryMetadataOf(entry).conformance = yield* conformanceOf(definition, stored);
  }

  /**
   * Loads a large entry and checks it against the current schema in time slices, before {@link servableBytes}; undefined: nothing
   * to wait for.
   */
  check(definition: ResourceDefinition, entry: CacheEntry, caller: Abortable): Promise<void> | undefined {
    const isPending =
      isLarge(entry.value.length) && !this.needsWebhook(definition, entry) && this.#isUnknown(definition, entry);
    return isPending ? this.#check(definition, entry, caller) : undefined;
  }

  async #check(definition: ResourceDefinition, entry: CacheEntry, caller: Abortable): Promise<void> {
    await this.load(entry, caller);
    await whileTimeLasts(this.#conforms(definition, entry), caller);
  }

  /**
   * The conformance of a large object that is about to be stored, for its announcement: the first watch or informer that reads it must
   * not check or freeze it in one step. Freezes the object. Undefined for a small one, and for a kind that needs no check.
   */
  async announcedConformance(
    definition: ResourceDefinition,
    object: KubeObject,
    work: RequestWork,
  ): Promise<string | undefined> {
    if (!work.isLarge) return undefined;
    await work.pause();
    deepFreeze(object);
    if (definition.origin === 'built-in' || !this.isStoredVersion(definition)) return undefined;
    return work.run(conformanceOf(definition, asJson(object)));
  }

  /** The complete JSON for a client. */
  wireBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer {
    const stored = this.servableBytes(definition, entry);
    return stored === undefined
      ? encodeForWire(this.object(definition, entry) as KubeObject)
      : withRevision(stored, entry.revision);
  }

  /**
   * Converts an object to its storage version: the object itself if it has that version, else a copy. The resourceVersion is
   * kept.
   */
  async toStored(definition: ResourceDefinition, object: KubeObject, work: RequestWork): Promise<KubeObject> {
    if (this.isStoredVersion(definition)) return object;
    await work.pause();
    const copy = deepCopy<JsonObject>(asJson(object)) as unknown as KubeObject;
    const { conversion, storage } = definition;
    if (conversion === undefined || storage === undefined) return toStorage(definition, copy);
    const stored = await this.#convertByWebhook(conversion, copy, apiVersionOf(storage), work);
    definition.schemaOf?.(stored.apiVersion)?.prune(asJson(stored));
    return stored;
  }

  /** Converts the result of {@link toStored} back to the version of the definition, in place or as a new object. */
  async toShown(definition: ResourceDefinition, stored: KubeObject, work: RequestWork): Promise<KubeObject> {
    const { conversion } = definition;
    const apiVersion = apiVersionOf(definition);
    if (conversion === undefined || stored.apiVersion === apiVersion)
      return work.run(fromStorageIncrementally(definition, stored));
    definition.schemaOf?.(stored.apiVersion)?.applyDefaults(asJson(stored));
    const shown = await this.#convertByWebhook(conversion, stored, apiVersion, work);
    definition.schema.prune(asJson(shown));
    return shown;
  }

  async #convertByWebhook(
    conversion: WebhookConversion,
    object: KubeObject,
    desired: string,
    work: RequestWork,
  ): Promise<KubeObject> {
    // Webhooks see objects without resourceVersion, as they are stored.
    const { resourceVersion } = object.metadata;
    delete object.metadata.resourceVersion;
    const converted = await this.conversions.ofObject(conversion, object, desired, work.signal ?? never);
    if (resourceVersion !== undefined) converted.metadata.resourceVersion = resourceVersion;
    return converted;
  }

  /** Whether the version of this definition is the storage version. */
  isStoredVersion(definition: ResourceDefinition): boolean {
    let same = this.#sameShape.get(definition);
    if (same === undefined) {
      const { storage } = definition;
      same =
        storage !== undefined &&
        definition.converter === undefined &&
        storage.group === definition.group &&
        storage.version === definition.version &&
        storage.kind === definition.kind;
      this.#sameShape.set(definition, same);
    }
    return same;
  }

  #convert(definition: ResourceDefinition, stored: DeepReadonly<KubeObject>): KubeObject {
    return fromStorage(definition, deepCopy(asJson(stored as KubeObject)) as unknown as KubeObject);
  }
}

/**
 * The hash of the schema if a frozen object conforms to it unchanged, else the hash behind `!`. In passes. Pruning and defaulting
 * throw a TypeError if they would change the object. Only then, which is rare, a copy is compared.
 */
function* conformanceOf(definition: ResourceDefinition, stored: JsonObject): Generator<void, string> {
  const { schema } = definition;
  try {
    schema.prune(stored);
    yield;
    schema.applyDefaults(stored);
    return stored['apiVersion'] === apiVersionOf(definition) ? schema.hash : `!${schema.hash}`;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  yield;
  const shown = deepCopy<JsonObject>(stored) as unknown as KubeObject;
  yield;
  yield* fromStorageIncrementally(definition, shown);
  yield;
  return deepEqual(stored, asJson(shown)) ? schema.hash : `!${schema.hash}`;
}

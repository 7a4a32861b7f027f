import {
  type DeepReadonly,
  type KubeObject,
  apiVersionOf,
  asJson,
  atOnce,
  deepCopy,
  deepEqual,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, WebhookConversion } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import type { DecodedObjects } from './decoded-objects.ts';
import { factsOf } from './entry-facts.ts';
import { inSteps } from './give-way.ts';
import { ListBlocks } from './list-blocks.ts';
import { encodeForWire, identityOf, withRevision } from './object-codec.ts';
import type { ObjectConversions } from './object-conversions.ts';

/** Encoded parts of lists that are asked for again and again. */
const listBytes = 16 * 1024 * 1024;

/** Stored objects as a definition shows them, at once. */
export interface ObjectSource {
  /** Frozen and shared, or a fresh copy. */
  object(definition: ResourceDefinition, entry: CacheEntry): DeepReadonly<KubeObject>;
  /** The stored bytes (without revision) when they are what a client of this definition gets. */
  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined;
}

/**
 * Shows stored objects in the version of a definition.
 *
 * The stored bytes are the answer wherever nothing has to change; {@link servableBytes} tells. That is always so for a
 * built-in kind in its storage version. A custom resource must also satisfy today's schema: its definition may have
 * gained defaults or lost fields since the object was written (K5.4). This is checked once per entry and remembered.
 * What only a webhook can show takes a wait: {@link read} for one object, an ObjectView for many.
 */
export class ObjectReader implements ObjectSource {
  readonly decoded: DecodedObjects;
  readonly listBlocks = new ListBlocks({ maxBytes: listBytes });
  readonly #conversions: ObjectConversions | undefined;
  readonly #sameShape = new WeakMap<ResourceDefinition, boolean>();

  /** Without conversions, kinds with a webhook are served in the version they are stored in alone. */
  constructor(modules: { readonly decoded: DecodedObjects; readonly conversions?: ObjectConversions | undefined }) {
    this.decoded = modules.decoded;
    this.#conversions = modules.conversions;
  }

  /** Throws an untyped 500 where there are none. */
  get conversions(): ObjectConversions {
    if (this.#conversions === undefined) throw statusErrors.untyped('conversion webhooks are not called here');
    return this.#conversions;
  }

  /** True for an entry that this definition shows only after a webhook was asked. */
  needsWebhook(definition: ResourceDefinition, entry: CacheEntry): boolean {
    return definition.conversion !== undefined && identityOf(entry.value).apiVersion !== apiVersionOf(definition);
  }

  /**
   * The object in the version of the definition, whatever that takes; frozen and shared, or a fresh copy. Whoever asks is
   * asked for a signal where there is something to wait for: making one costs more than reading most objects.
   */
  async read(
    definition: ResourceDefinition,
    entry: CacheEntry,
    caller: { readonly signal: AbortSignal },
  ): Promise<DeepReadonly<KubeObject>> {
    if (!this.needsWebhook(definition, entry)) {
      if (this.#isUnknown(definition, entry)) await inSteps(this.#conforms(definition, entry), entry.value.length);
      return this.object(definition, entry);
    }
    const converted = await this.conversions.ofEntries(definition, [entry], { signal: caller.signal, list: false });
    return converted.get(entry) as DeepReadonly<KubeObject>;
  }

  /** The object as it is stored, with its resourceVersion; frozen and shared. */
  readonly stored = (entry: CacheEntry): DeepReadonly<KubeObject> => this.decoded.get(entry);

  /** The same for an entry that was replaced or removed. */
  readonly past = (entry: CacheEntry): DeepReadonly<KubeObject> => this.decoded.past(entry);

  /**
   * The object in the version of the definition, pruned and defaulted by its schema; frozen and shared, or a fresh copy.
   * `stored` is the object as it is stored, where that is at hand.
   */
  object(definition: ResourceDefinition, entry: CacheEntry, stored = this.stored(entry)): DeepReadonly<KubeObject> {
    if (this.needsWebhook(definition, entry)) throw new TypeError('an object was read before it was converted');
    return this.servableBytes(definition, entry) === undefined ? this.#convert(definition, stored) : stored;
  }

  /** The stored bytes (without revision) when they are what a client of this definition gets. */
  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined {
    if (!this.isStoredVersion(definition)) return undefined;
    if (definition.origin === 'built-in') return entry.value;
    if (this.needsWebhook(definition, entry)) return undefined;
    if (this.#isUnknown(definition, entry)) atOnce(this.#conforms(definition, entry));
    return factsOf(entry).conformance === definition.schema.hash ? entry.value : undefined;
  }

  /** True for an entry of which nobody has found out yet whether it satisfies its schema. */
  #isUnknown(definition: ResourceDefinition, entry: CacheEntry): boolean {
    if (definition.origin === 'built-in' || !this.isStoredVersion(definition)) return false;
    const facts = factsOf(entry);
    if (facts.conformance === undefined) {
      const told = this.decoded.conformanceOf(entry.key, entry.revision);
      if (told !== undefined) facts.conformance = told;
    }
    const { conformance } = facts;
    const { hash } = definition.schema;
    return conformance !== hash && (conformance === undefined || conformance.slice(1) !== hash);
  }

  /** The schema that an object satisfies once its metadata, and nothing else, says that it is being deleted; if known. */
  conformanceOfMarked(definition: ResourceDefinition, existing: CacheEntry): string | undefined {
    if (definition.origin === 'built-in' || definition.strategy.beginDeletion !== undefined) return undefined;
    const { hash } = definition.schema;
    return this.isStoredVersion(definition) && factsOf(existing).conformance === hash ? hash : undefined;
  }

  /**
   * Finds out; pauses between its passes. Nearly all satisfy their schema, and then nothing is written to them: who prunes
   * and defaults what is frozen fails where there is something to write, and only then a copy has to be made.
   */
  *#conforms(definition: ResourceDefinition, entry: CacheEntry): Generator<void, void> {
    const { schema } = definition;
    const stored = asJson(this.stored(entry) as KubeObject);
    yield;
    try {
      schema.prune(stored);
      yield;
      schema.applyDefaults(stored);
      factsOf(entry).conformance = stored['apiVersion'] === apiVersionOf(definition) ? schema.hash : `!${schema.hash}`;
      return;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    yield;
    const shown = deepCopy(stored) as unknown as KubeObject;
    yield;
    fromStorage(definition, shown);
    yield;
    factsOf(entry).conformance = deepEqual(stored, asJson(shown)) ? schema.hash : `!${schema.hash}`;
  }

  /** Complete bytes for a client. */
  wireBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer {
    const stored = this.servableBytes(definition, entry);
    return stored === undefined
      ? encodeForWire(this.object(definition, entry) as KubeObject)
      : withRevision(stored, entry.revision);
  }

  /**
   * An object of the caller's as it will be stored: the object itself where nothing has to change. Its resourceVersion
   * stays what it was.
   */
  async toStored(definition: ResourceDefinition, object: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    if (this.isStoredVersion(definition)) return object;
    const copy = deepCopy(asJson(object)) as unknown as KubeObject;
    const { conversion, storage } = definition;
    if (conversion === undefined || storage === undefined) return toStorage(definition, copy);
    const stored = await this.#elsewhere(conversion, copy, apiVersionOf(storage), signal);
    definition.schemaOf?.(stored.apiVersion)?.prune(asJson(stored));
    return stored;
  }

  /** What {@link toStored} made, as a read would show it, in place or made anew. */
  async toShown(definition: ResourceDefinition, stored: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const { conversion } = definition;
    const apiVersion = apiVersionOf(definition);
    if (conversion === undefined || stored.apiVersion === apiVersion) return fromStorage(definition, stored);
    definition.schemaOf?.(stored.apiVersion)?.applyDefaults(asJson(stored));
    const shown = await this.#elsewhere(conversion, stored, apiVersion, signal);
    definition.schema.prune(asJson(shown));
    return shown;
  }

  async #elsewhere(
    conversion: WebhookConversion,
    object: KubeObject,
    desired: string,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    // No webhook is told the revision: in storage an object has none.
    const { resourceVersion } = object.metadata;
    delete object.metadata.resourceVersion;
    const converted = await this.conversions.ofObject(conversion, object, desired, signal);
    if (resourceVersion !== undefined) converted.metadata.resourceVersion = resourceVersion;
    return converted;
  }

  /** True when requests of this definition speak the version that is stored. */
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

/** In place, storage version → version of the definition (K5.11): converter, names, then today's schema. */
export function fromStorage(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(definition);
  const other = object.apiVersion === apiVersion ? undefined : definition.schemaOf?.(object.apiVersion);
  other?.applyDefaults(asJson(object));
  if (definition.converter !== undefined) definition.converter.fromStorage(object);
  else if (object.apiVersion !== apiVersion) definition.fromOlder?.(object);
  object.apiVersion = apiVersion;
  object.kind = definition.kind;
  if (definition.origin === 'custom') {
    definition.schema.prune(asJson(object));
    if (other === undefined) definition.schema.applyDefaults(asJson(object));
  }
  return object;
}

/** In place, version of the definition → storage version. */
export function toStorage(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { storage } = definition;
  if (storage === undefined) throw new TypeError(`${definition.resource} is never stored`);
  definition.converter?.toStorage(object);
  object.apiVersion = apiVersionOf(storage);
  object.kind = storage.kind;
  return object;
}

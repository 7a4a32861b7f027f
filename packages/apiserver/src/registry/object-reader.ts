import {
  type DeepReadonly,
  type KubeObject,
  apiVersionOf,
  asJson,
  deepCopy,
  deepEqual,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import type { DecodedObjects } from './decoded-objects.ts';
import { factsOf } from './entry-facts.ts';
import { encodeForWire, withRevision } from './object-codec.ts';

/**
 * Shows stored objects in the version of a definition.
 *
 * The stored bytes are the answer wherever nothing has to change; {@link servableBytes} tells. That is always so for a
 * built-in kind in its storage version. A custom resource must also satisfy today's schema: its definition may have
 * gained defaults or lost fields since the object was written (K5.4). This is checked once per entry and remembered.
 */
export class ObjectReader {
  readonly decoded: DecodedObjects;
  readonly #sameShape = new WeakMap<ResourceDefinition, boolean>();

  constructor(modules: { readonly decoded: DecodedObjects }) {
    this.decoded = modules.decoded;
  }

  /** The object as it is stored, with its resourceVersion; frozen and shared. */
  readonly stored = (entry: CacheEntry): DeepReadonly<KubeObject> => this.decoded.get(entry);

  /** The object in the version of the definition, pruned and defaulted by its schema; frozen and shared, or a fresh copy. */
  object(definition: ResourceDefinition, entry: CacheEntry): DeepReadonly<KubeObject> {
    const stored = this.stored(entry);
    return this.servableBytes(definition, entry) === undefined ? this.#convert(definition, stored) : stored;
  }

  /** The stored bytes (without revision) when they are what a client of this definition gets. */
  servableBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer | undefined {
    if (!this.isStoredVersion(definition)) return undefined;
    if (definition.origin === 'built-in') return entry.value;
    const facts = factsOf(entry);
    const { hash } = definition.schema;
    if (facts.conformance === hash) return entry.value;
    if (facts.conformance?.slice(1) === hash) return undefined;
    const stored = this.stored(entry);
    const conforms = deepEqual(asJson(stored as KubeObject), asJson(this.#convert(definition, stored)));
    facts.conformance = conforms ? hash : `!${hash}`;
    return conforms ? entry.value : undefined;
  }

  /** Complete bytes for a client. */
  wireBytes(definition: ResourceDefinition, entry: CacheEntry): Buffer {
    const stored = this.servableBytes(definition, entry);
    return stored === undefined
      ? encodeForWire(this.object(definition, entry) as KubeObject)
      : withRevision(stored, entry.revision);
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
  definition.converter?.fromStorage(object);
  object.apiVersion = apiVersionOf(definition);
  object.kind = definition.kind;
  if (definition.origin === 'custom') {
    definition.schema.prune(asJson(object));
    definition.schema.applyDefaults(asJson(object));
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

import {
  type DeepReadonly,
  type KubeObject,
  apiVersionOf,
  asJson,
  deepCopy,
  deepFreeze,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, WebhookConversion } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import { parseObjectKey, type CacheEntry } from '@multiplane/storage';
import { LRUCache } from 'lru-cache';
import type { ConversionReviewer } from '../../webhooks/conversion-review.ts';
import { grownSize } from '../grown-objects.ts';
import type { DecodedObjects } from '../store/decoded-objects.ts';

export interface ObjectConversionsOptions {
  /** Estimated size of the converted objects that are kept. */
  readonly maxBytes: number;
}

export interface ObjectConversionsModules {
  readonly reviewer: Pick<ConversionReviewer, 'convert'>;
  readonly decoded: DecodedObjects;
}

/** Stored bytes per webhook call, so that parsing the response does not block the event loop. */
const maxCallBytes = 2 * 1024 * 1024;
/** As for {@link DecodedObjects}. */
const bytesPerJsonByte = 4;

/** A webhook call in flight, shared by all requests that need its result. */
interface Call {
  readonly done: Promise<ReadonlyMap<string, DeepReadonly<KubeObject>>>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Converts stored objects to other versions by conversion webhooks.
 *
 *  - Results are kept in an LRU cache by revision, version and webhook. Requests for an object that is being converted share
 *    the call in flight, which is cancelled when none of them waits any longer.
 *  - Only objects stored in another version are sent; all objects that a list or a burst of events needs in one call, up to a
 *    limit in bytes.
 *  - A webhook receives objects pruned and defaulted by the schema of their own version. Its results are pruned by the
 *    schema of the wanted version, but not defaulted, as in Kubernetes.
 */
export class ObjectConversions {
  readonly #modules: ObjectConversionsModules;
  readonly #kept: LRUCache<string, DeepReadonly<KubeObject>>;
  readonly #calls = new Map<string, Call>();

  constructor(options: ObjectConversionsOptions, modules: ObjectConversionsModules) {
    this.#kept = new LRUCache({ maxSize: options.maxBytes });
    this.#modules = modules;
  }

  /** Estimated size of the kept objects. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** Converts stored objects to the version of the definition; frozen. `list`: errors name the index of the invalid item. */
  async ofEntries(
    definition: ResourceDefinition,
    entries: readonly CacheEntry[],
    { signal, list }: { readonly signal: AbortSignal; readonly list: boolean },
  ): Promise<ReadonlyMap<CacheEntry, DeepReadonly<KubeObject>>> {
    const result = new Map<CacheEntry, DeepReadonly<KubeObject>>();
    const waiting = new Map<Call, CacheEntry[]>();
    let batch: CacheEntry[] = [];
    let bytes = 0;
    const send = async (): Promise<void> => {
      if (batch.length === 0) return;
      const sent = batch;
      batch = [];
      bytes = 0;
      await this.#collect(definition, this.#start(definition, sent, list), sent, result, signal);
    };
    for (const entry of entries) {
      const key = keyOf(definition, entry);
      const kept = this.#kept.get(key);
      const call = this.#calls.get(key);
      if (kept !== undefined) {
        result.set(entry, kept);
      } else if (call !== undefined) {
        const known = waiting.get(call);
        if (known === undefined) waiting.set(call, [entry]);
        else known.push(entry);
      } else {
        if (bytes > 0 && bytes + entry.value.length > maxCallBytes) await send();
        batch.push(entry);
        bytes += entry.value.length;
      }
    }
    await send();
    for (const [call, wanted] of waiting) await this.#collect(definition, call, wanted, result, signal);
    return result;
  }

  /** Converts an object of the caller to another version; the result is neither pruned nor defaulted. */
  async ofObject(
    conversion: WebhookConversion,
    object: KubeObject,
    desired: string,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    // An object without fields needs no conversion.
    if (Object.keys(object).every((key) => key === 'kind' || key === 'apiVersion'))
      return { ...object, apiVersion: desired };
    const [converted] = await this.#modules.reviewer.convert({
      conversion,
      desired,
      objects: [object],
      list: false,
      signal,
    });
    return converted as KubeObject;
  }

  /** Caches an object that another caller converted, such as a write, for later reads. */
  keep(definition: ResourceDefinition, revision: number, object: DeepReadonly<KubeObject>, bytes: number): void {
    this.#keep(keyOf(definition, { revision }), object, bytes);
  }

  async #collect(
    definition: ResourceDefinition,
    call: Call,
    entries: readonly CacheEntry[],
    result: Map<CacheEntry, DeepReadonly<KubeObject>>,
    signal: AbortSignal,
  ): Promise<void> {
    const converted = await joined(call, signal);
    for (const entry of entries) {
      result.set(entry, converted.get(keyOf(definition, entry)) as DeepReadonly<KubeObject>);
    }
  }

  #start(definition: ResourceDefinition, entries: readonly CacheEntry[], list: boolean): Call {
    const controller = new AbortController();
    // Two events of a burst may contain the same revision: as the new object of one and the old object of the next.
    const distinct = new Map(entries.map((entry) => [keyOf(definition, entry), entry]));
    const keys = [...distinct.keys()];
    const done = this.#convert(definition, [...distinct.values()], { signal: controller.signal, list });
    const call: Call = { done, controller, waiting: 0 };
    for (const key of keys) this.#calls.set(key, call);
    const forget = (): void => {
      for (const key of keys) if (this.#calls.get(key) === call) this.#calls.delete(key);
    };
    done.then(forget, forget);
    controller.signal.addEventListener('abort', forget);
    return call;
  }

  async #convert(
    definition: ResourceDefinition,
    entries: readonly CacheEntry[],
    { signal, list }: { readonly signal: AbortSignal; readonly list: boolean },
  ): Promise<ReadonlyMap<string, DeepReadonly<KubeObject>>> {
    const conversion = definition.conversion as WebhookConversion;
    const { prefix } = definition.storage ?? { prefix: '' };
    const slices = timeSlices(parseObjectKey(prefix, entries[0]?.key ?? '')?.cluster);
    const objects: KubeObject[] = [];
    for (const entry of entries) {
      objects.push(this.#asStored(definition, entry));
      if (slices.isExceeded) await slices.yield();
    }
    const converted = await this.#modules.reviewer.convert({
      conversion,
      desired: apiVersionOf(definition),
      objects,
      list,
      signal,
    });
    const result = new Map<string, DeepReadonly<KubeObject>>();
    for (const [index, entry] of entries.entries()) {
      const object = converted[index] as KubeObject;
      definition.schema.prune(asJson(object));
      object.metadata.resourceVersion = String(entry.revision);
      const bytes = grownSize(object, entry.value.length);
      const frozen = deepFreeze(object);
      const key = keyOf(definition, entry);
      result.set(key, frozen);
      this.#keep(key, frozen, bytes);
      if (slices.isExceeded) await slices.yield();
    }
    return result;
  }

  /** A copy pruned and defaulted by the schema of the storage version, without resourceVersion. */
  #asStored(definition: ResourceDefinition, entry: CacheEntry): KubeObject {
    const object = deepCopy(asJson(this.#modules.decoded.get(entry) as KubeObject)) as unknown as KubeObject;
    delete object.metadata.resourceVersion;
    const schema = definition.schemaOf?.(object.apiVersion);
    schema?.prune(asJson(object));
    schema?.applyDefaults(asJson(object));
    return object;
  }

  #keep(key: string, object: DeepReadonly<KubeObject>, bytes: number): void {
    this.#kept.set(key, object, { size: Math.max(1, bytes * bytesPerJsonByte) });
  }
}

function keyOf(definition: ResourceDefinition, { revision }: Pick<CacheEntry, 'revision'>): string {
  return `${revision}/${definition.version}/${(definition.conversion as WebhookConversion).key}`;
}

/** Waits for a shared call, which is cancelled when the last waiting request is aborted. */
async function joined(call: Call, signal: AbortSignal): Promise<ReadonlyMap<string, DeepReadonly<KubeObject>>> {
  call.waiting++;
  let leave: (() => void) | undefined;
  const gone = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason as Error);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([call.done, gone]);
  } finally {
    signal.removeEventListener('abort', leave as () => void);
    call.waiting--;
    if (call.waiting === 0) call.controller.abort(new Error('all requests that wait for this conversion were aborted'));
  }
}

import {
  type DeepReadonly,
  type KubeObject,
  apiVersionOf,
  asJson,
  deepCopy,
  deepFreeze,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, WebhookConversion } from '@multiplane/apis';
import { slicesOfTurns } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import type { ConversionReviewer } from '../webhooks/conversion-review.ts';
import type { DecodedObjects } from './decoded-objects.ts';

export interface ObjectConversionsOptions {
  /** Of converted objects that are kept. */
  readonly maxBytes: number;
}

export interface ObjectConversionsModules {
  readonly reviewer: Pick<ConversionReviewer, 'convert'>;
  readonly decoded: DecodedObjects;
}

/** What one request to a webhook may bring: reading the answer must not hold the event loop. */
const maxCallBytes = 2 * 1024 * 1024;
/** As in {@link DecodedObjects}. */
const bytesPerJsonByte = 4;

interface Slot {
  readonly object: DeepReadonly<KubeObject>;
  readonly size: number;
}

/** A request to a webhook that several may wait for. */
interface Call {
  readonly done: Promise<ReadonlyMap<string, DeepReadonly<KubeObject>>>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Objects in versions that a webhook makes of what is stored (K5.11).
 *
 * One version of one object is asked for once: results are kept by revision, definition and version, the least recently
 * used going first, and who comes while the webhook is being asked waits for the same answer. A call ends when nobody
 * waits any more. Only what is stored in another version is sent, everything that a list or a burst of events needs in
 * one call unless it is too much for one. What a webhook sees is the object as its own version shows it: pruned and with
 * the defaults of the stored version; of its answer, the fields that the wanted version knows are kept, and no defaults
 * are added (upstream defaults in the version it decodes).
 */
export class ObjectConversions {
  readonly #maxBytes: number;
  readonly #modules: ObjectConversionsModules;
  readonly #kept = new Map<string, Slot>();
  readonly #calls = new Map<string, Call>();
  #bytes = 0;

  constructor(options: ObjectConversionsOptions, modules: ObjectConversionsModules) {
    this.#maxBytes = options.maxBytes;
    this.#modules = modules;
  }

  /** Bytes that kept objects take, by estimate. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Stored objects in the version of the definition, frozen. `list`: failures tell which item was wrong. */
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
      const slot = this.#kept.get(key);
      const call = this.#calls.get(key);
      if (slot !== undefined) {
        this.#kept.delete(key);
        this.#kept.set(key, slot);
        result.set(entry, slot.object);
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

  /** An object of the caller's in another version, as the webhook made it: neither pruned nor defaulted. */
  async ofObject(
    conversion: WebhookConversion,
    object: KubeObject,
    desired: string,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    // Nothing but its kind: there is nothing that a converter could say about it.
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

  /** Remembers what was made of an object on its way, so that its readers need not ask again. */
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
    // Of a burst of events two may show the same: what an object became, and what it was when it went.
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
    const slices = slicesOfTurns();
    const objects: KubeObject[] = [];
    for (const entry of entries) {
      objects.push(this.#asStored(definition, entry));
      if (slices.over) await slices.next();
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
      const frozen = deepFreeze(object);
      const key = keyOf(definition, entry);
      result.set(key, frozen);
      this.#keep(key, frozen, entry.value.length);
      if (slices.over) await slices.next();
    }
    return result;
  }

  /** A copy as a read of the stored version shows it, without its revision: storage does not know that either. */
  #asStored(definition: ResourceDefinition, entry: CacheEntry): KubeObject {
    const object = deepCopy(asJson(this.#modules.decoded.get(entry) as KubeObject)) as unknown as KubeObject;
    delete object.metadata.resourceVersion;
    const schema = definition.schemaOf?.(object.apiVersion);
    schema?.prune(asJson(object));
    schema?.applyDefaults(asJson(object));
    return object;
  }

  #keep(key: string, object: DeepReadonly<KubeObject>, bytes: number): void {
    const slot = { object, size: bytes * bytesPerJsonByte };
    this.#bytes += slot.size - (this.#kept.get(key)?.size ?? 0);
    this.#kept.set(key, slot);
    if (this.#bytes <= this.#maxBytes) return;
    const enough = this.#maxBytes - this.#maxBytes / 8;
    for (const [oldest, { size }] of this.#kept) {
      if (this.#bytes <= enough || oldest === key) return;
      this.#kept.delete(oldest);
      this.#bytes -= size;
    }
  }
}

function keyOf(definition: ResourceDefinition, { revision }: Pick<CacheEntry, 'revision'>): string {
  return `${revision}/${definition.version}/${(definition.conversion as WebhookConversion).key}`;
}

/** Waits for a call that others may wait for, too; the last who goes ends it. */
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
    if (call.waiting === 0) call.controller.abort(new Error('nobody waits for this conversion any more'));
  }
}

import {
  clusterAnnotation,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { DecodedObjects } from '@multiplane/apiserver';
import type { CacheEntry, StoredValue } from '@multiplane/storage';
import { consumerBytes, originAnnotations } from './consumer-bytes.ts';

/**
 * A cached object as one consumer sees it. Lives as long as a request or an event: the one copy is {@link base}, and what is
 * known about it (labels, conformance to the schema) is kept there for all consumers.
 */
export class ConsumerEntry implements CacheEntry {
  readonly key: string;
  readonly base: CacheEntry;
  readonly consumer: LogicalClusterName;
  #value: Buffer | undefined;

  constructor(key: string, base: CacheEntry, consumer: LogicalClusterName) {
    this.key = key;
    this.base = base;
    this.consumer = consumer;
  }

  get revision(): number {
    return this.base.revision;
  }

  get value(): Buffer {
    return (this.#value ??= consumerBytes(this.base.value, this.consumer));
  }

  get attachment(): unknown {
    return this.base.attachment;
  }

  set attachment(value: unknown) {
    this.base.attachment = value;
  }
}

/** Parsed objects of consumers: each shares everything but its annotations with the one parsed cached object. */
export class ConsumerObjects extends DecodedObjects {
  override get(stored: StoredValue): DeepReadonly<KubeObject> {
    return stored instanceof ConsumerEntry ? shownTo(stored.consumer, super.get(stored.base)) : super.get(stored);
  }

  override past(stored: StoredValue): DeepReadonly<KubeObject> {
    return stored instanceof ConsumerEntry ? shownTo(stored.consumer, super.past(stored.base)) : super.past(stored);
  }
}

/** Frozen like what it is made of: readers find out by writing whether an object conforms to its schema. */
function shownTo(consumer: LogicalClusterName, object: DeepReadonly<KubeObject>): DeepReadonly<KubeObject> {
  const { annotations = {}, ...metadata } = object.metadata;
  const shown: Record<string, string> = { [clusterAnnotation]: consumer };
  for (const [key, value] of Object.entries(annotations))
    if (!originAnnotations.has(key) && key !== clusterAnnotation) shown[key] = value;
  return Object.freeze({
    ...object,
    metadata: Object.freeze({ ...metadata, annotations: Object.freeze(shown) }),
  }) as DeepReadonly<KubeObject>;
}

import {
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
  type ObjectMeta,
  deepFreeze,
  foregroundFinalizer,
  orphanFinalizer,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { MetadataInformer, ObjectMetadataRecord } from '@multiplane/client';
import { type CacheEntry, type WatchCache, registryPrefix } from '@multiplane/storage';
import type { DecodedObjects } from '../registry/store/decoded-objects.ts';
import { parseMetadata } from '../registry/codec/metadata-scanner.ts';
import { identityOf, isUndecryptable } from '../registry/codec/stored-layout.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import { CacheSubscription } from './cache-subscription.ts';
import { identitySegments } from './identity-segments.ts';

interface ParsedKey {
  readonly group: string;
  readonly resource: string;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
}

/**
 * An informer for the metadata of all objects of all kinds, by one subscription to the whole cache. Records parse their object
 * on first use.
 *
 * A key names its resource, but does not show whether its third segment is a cluster or an identity. Built-in kinds, which
 * have no identity segment, are recognised by their prefix; all other keys have one.
 */
export class CacheMetadataInformer implements MetadataInformer {
  readonly #cache: WatchCache;
  readonly #decoded: DecodedObjects;
  /** By key prefix; of kinds that share a prefix (events) the one in the storage version. */
  readonly #builtIn = new Map<string, ResourceDefinition>();
  /** The last two records, because each event is delivered to several handlers one after the other. */
  readonly #recent: (LazyRecord | undefined)[] = [undefined, undefined];
  #next = 0;

  constructor(modules: {
    readonly cache: WatchCache;
    readonly reader: ObjectReader;
    readonly builtIn: readonly ResourceDefinition[];
  }) {
    this.#cache = modules.cache;
    this.#decoded = modules.reader.decoded;
    for (const definition of modules.builtIn) {
      const { storage } = definition;
      if (storage !== undefined && modules.reader.isStoredVersion(definition))
        this.#builtIn.set(storage.prefix, definition);
    }
  }

  get synced(): Promise<void> {
    return this.#cache.ready;
  }

  addHandlers(handlers: {
    changed(record: ObjectMetadataRecord, old: ObjectMetadataRecord | undefined): void;
    deleted(old: ObjectMetadataRecord): void;
    synced?(): void;
  }): () => void {
    const subscription = new CacheSubscription(
      { scope: registryPrefix },
      {
        cache: this.#cache,
        handler: {
          changed: (current, previous) => {
            const record = this.#record(current);
            if (record !== undefined)
              handlers.changed(record, previous === undefined ? undefined : this.#record(previous));
          },
          removed: (previous) => {
            const record = this.#record(previous);
            if (record !== undefined) handlers.deleted(record);
          },
        },
      },
    );
    return subscription.whenSynced(() => handlers.synced?.());
  }

  *list(scope: {
    readonly cluster: LogicalClusterName;
    readonly namespace?: string | undefined;
    readonly resource?: GroupVersionResource | undefined;
  }): IterableIterator<ObjectMetadataRecord> {
    for (const prefix of this.#prefixes(scope)) yield* this.#recordsIn(prefix);
  }

  count(scope: {
    readonly cluster: LogicalClusterName;
    readonly namespace?: string | undefined;
    readonly resource: Pick<GroupVersionResource, 'group' | 'resource'>;
  }): number {
    let total = 0;
    for (const prefix of this.#prefixes(scope)) total += this.#cache.listCurrent(prefix).length;
    return total;
  }

  /** Prefixes of the keys of a scope. */
  *#prefixes(scope: {
    readonly cluster: LogicalClusterName;
    readonly namespace?: string | undefined;
    readonly resource?: Pick<GroupVersionResource, 'group' | 'resource'> | undefined;
  }): Generator<string> {
    const { cluster, namespace, resource } = scope;
    // counts() lists all resources with objects; those of a cluster are below each prefix, one segment deeper for custom and
    // bound resources. A lookup without a result is cheap.
    for (const resourcePrefix of this.#cache.counts().keys()) {
      const [group, name] = resourcePrefix.slice(registryPrefix.length).split('/') as [string, string];
      if (
        resource !== undefined &&
        (name !== resource.resource || group !== (resource.group === '' ? 'core' : resource.group))
      )
        continue;
      const within = `${cluster}/${namespace === undefined || namespace === '' ? '' : `${namespace}/`}`;
      if (this.#builtIn.has(resourcePrefix)) {
        yield `${resourcePrefix}${within}`;
        continue;
      }
      for (const segment of identitySegments(this.#cache, resourcePrefix))
        yield `${resourcePrefix}${segment}/${within}`;
    }
  }

  *#recordsIn(prefix: string): IterableIterator<ObjectMetadataRecord> {
    for (const entry of this.#cache.listCurrent(prefix)) {
      const record = this.#record(entry);
      if (record !== undefined) yield record;
    }
  }

  #record(entry: CacheEntry): ObjectMetadataRecord | undefined {
    const [first, second] = this.#recent;
    if (first?.isOf(entry) === true) return first;
    if (second?.isOf(entry) === true) return second;
    const parsed = this.#parse(entry.key);
    if (parsed === undefined) return undefined;
    const record = new LazyRecord(parsed, entry, this.#decoded);
    this.#recent[this.#next] = record;
    this.#next = 1 - this.#next;
    return record;
  }

  #parse(key: string): ParsedKey | undefined {
    const parts = key.slice(registryPrefix.length).split('/');
    const [groupSegment, resource] = parts as [string, string];
    const builtIn = this.#builtIn.has(`${registryPrefix}${groupSegment}/${resource}/`);
    const rest = parts.slice(builtIn ? 2 : 3);
    if (rest.length !== 2 && rest.length !== 3) return undefined;
    return {
      group: groupSegment === 'core' ? '' : groupSegment,
      resource,
      cluster: rest[0] as LogicalClusterName,
      namespace: rest.length === 3 ? (rest[1] as string) : '',
      name: rest.at(-1) as string,
    };
  }
}

const ownersField = Buffer.from('"ownerReferences"');
const deletionField = Buffer.from('"deletionTimestamp"');
const waitFinalizers: ReadonlySet<string> = new Set([foregroundFinalizer, orphanFinalizer]);
const waits = Array.from(waitFinalizers, (name) => Buffer.from(`"${name}"`));

/** Whether an object has no owners, and no deletion that waits for its dependents. */
const isPlain = ({ ownerReferences = [], deletionTimestamp, finalizers = [] }: DeepReadonly<ObjectMeta>): boolean =>
  ownerReferences.length === 0 &&
  (deletionTimestamp === undefined || !finalizers.some((name) => waitFinalizers.has(name)));

class LazyRecord implements ObjectMetadataRecord {
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly #parsed: ParsedKey;
  readonly #entry: CacheEntry;
  readonly #decoded: DecodedObjects;
  #identity: ReturnType<typeof identityOf> | undefined;
  #metadata: DeepReadonly<KubeObject['metadata']> | undefined;
  #isPlain: boolean | undefined;

  constructor(parsed: ParsedKey, entry: CacheEntry, decoded: DecodedObjects) {
    this.cluster = parsed.cluster;
    this.namespace = parsed.namespace;
    this.name = parsed.name;
    this.revision = entry.revision;
    this.#parsed = parsed;
    this.#entry = entry;
    this.#decoded = decoded;
  }

  get resource(): GroupVersionResource {
    const { apiVersion } = this.#head;
    return {
      group: this.#parsed.group,
      version: apiVersion.slice(apiVersion.indexOf('/') + 1),
      resource: this.#parsed.resource,
    };
  }

  get kind(): string {
    return this.#head.kind;
  }

  get uid(): string {
    return this.#head.uid;
  }

  /** From the parsed object if it is cached or its write is in flight; otherwise only the metadata is parsed. */
  get metadata(): DeepReadonly<KubeObject['metadata']> {
    return (this.#metadata ??= this.#readMetadata());
  }

  #readMetadata(): DeepReadonly<KubeObject['metadata']> {
    const resourceVersion = String(this.#entry.revision);
    const known = this.#decoded.knownMetadata(this.#entry);
    if (known?.resourceVersion === resourceVersion) return known;
    return deepFreeze({ ...(known ?? this.#parsedMetadata()), resourceVersion });
  }

  /** Of an object that the store cannot decrypt only the name is known; reads of it by the API fail. */
  #parsedMetadata(): KubeObject['metadata'] {
    const { value } = this.#entry;
    return isUndecryptable(value) ? { name: this.name, namespace: this.namespace } : parseMetadata(value);
  }

  get isIndependent(): boolean {
    if (this.#isPlain === undefined) {
      const known = this.#decoded.knownMetadata(this.#entry);
      if (known !== undefined) return (this.#isPlain = isPlain(known));
      const { value } = this.#entry;
      this.#isPlain =
        !value.includes(ownersField) && !(value.includes(deletionField) && waits.some((name) => value.includes(name)));
    }
    return this.#isPlain;
  }

  isOf({ key, revision }: CacheEntry): boolean {
    return this.revision === revision && this.#entry.key === key;
  }

  get #head(): ReturnType<typeof identityOf> {
    return (this.#identity ??= identityOf(this.#entry.value));
  }
}

import {
  type DeepReadonly,
  type IncludeObject,
  type JsonObject,
  type KubeObject,
  type StatusError,
  apiVersionOf,
  encodeJson,
} from '@multiplane/apimachinery';
import { type ResourceDefinition, encodeProtobufObject } from '@multiplane/apis';
import type { Encoding, Transform } from '@multiplane/generic-server';
import type { CacheEntry, CacheEvent } from '@multiplane/storage';
import { encodeForWire } from '../../registry/codec/object-codec.ts';
import { spliced } from '../../registry/codec/stored-layout.ts';
import type { ObjectSource } from '../../registry/store/object-source.ts';
import { isLarge } from '../../time-slices.ts';
import { protobufIncrementally, protobufObject, protobufWatchFrame } from '../response/protobuf-response.ts';
import {
  columnDefinitions,
  copiesMetadata,
  partialObject,
  storedPartialObject,
  tableOfOne,
  type StoredObject,
} from '../response/table-writer.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** The annotation of the bookmark after the initial events. */
const initialEventsEnd = 'k8s.io/initial-events-end';

export interface WatchFramesOptions {
  readonly definition: ResourceDefinition;
  readonly encoding: Encoding;
  readonly transform: Transform | undefined;
  readonly include: IncludeObject;
}

/**
 * Encodes the events of a watch: lines of JSON, or protobuf messages with a length prefix. A frame is encoded once for all
 * watches that receive the same bytes; it is kept in the event's memo, under a key of everything that determines the bytes.
 */
export class WatchFrames {
  readonly #definition: ResourceDefinition;
  readonly #encoding: Encoding;
  readonly #transform: Transform | undefined;
  readonly #include: IncludeObject;
  readonly #reader: ObjectSource;
  readonly #now: () => Date;
  readonly #memoKeys: Readonly<Record<WatchEventType, string>>;
  /** Tables contain column definitions in the first event only. */
  #columnsSent = false;

  constructor(options: WatchFramesOptions, modules: { readonly reader: ObjectSource; readonly now: () => Date }) {
    this.#definition = options.definition;
    this.#encoding = options.encoding;
    this.#transform = options.transform;
    this.#include = options.include;
    this.#reader = modules.reader;
    this.#now = modules.now;
    const { transform } = options;
    const form = transform === undefined ? '' : `${transform.kind}/${transform.version}/${options.include}`;
    const { definition } = options;
    // A changed definition encodes the same event differently: its watches end, and new ones may start before the event.
    const shape = definition.origin === 'custom' ? `${definition.schema.hash} ${definition.conversion?.key ?? ''}` : '';
    const prefix = `${apiVersionOf(definition)} ${shape} ${options.encoding} ${form} `;
    this.#memoKeys = { ADDED: `${prefix}ADDED`, MODIFIED: `${prefix}MODIFIED`, DELETED: `${prefix}DELETED` };
  }

  /** The objects of a watch are no lists: kube-apiserver opens such a watch, and ends it at the first event. */
  get canEncode(): boolean {
    return this.#transform?.kind !== 'PartialObjectMetadataList';
  }

  /** Whether frames are made of parsed objects, not of stored bytes. */
  get parses(): boolean {
    return this.#copiedForm === undefined && (this.#transform !== undefined || this.#encoding !== 'json');
  }

  /** The transform, if its frames contain nothing but stored metadata. */
  get #copiedForm(): Transform | undefined {
    const transform = this.#transform;
    return transform?.kind === 'PartialObjectMetadata' &&
      this.#encoding === 'json' &&
      copiesMetadata(this.#definition, transform)
      ? transform
      : undefined;
  }

  /** A change. DELETED, also for an object that no longer matches, contains the previous object with the event's revision. */
  event(type: WatchEventType, event: CacheEvent): Buffer {
    const key = this.#memoKeys[type];
    const shared = this.#needsColumns ? undefined : event.memo.get(key);
    if (shared !== undefined) return shared;
    const share = !this.#needsColumns;
    const entry = (type === 'DELETED' ? event.previous : event.current) as CacheEntry;
    const frame = this.#frame(type, entry, event.revision);
    if (share) event.memo.set(key, frame);
    return frame;
  }

  /** An initial event. */
  initial(entry: CacheEntry): Buffer {
    return this.#frame('ADDED', entry, entry.revision);
  }

  /** Whether frames of stored objects contain their bytes as they are, if no object has to be converted. */
  get copiesObjects(): boolean {
    return this.#transform === undefined && this.#encoding === 'json';
  }

  /** {@link initial} of several entries; undefined if one of them has to be converted. Only if {@link copiesObjects}. */
  initialRun(entries: readonly CacheEntry[]): Buffer | undefined {
    const frames: Buffer[] = [];
    for (const entry of entries) {
      const stored = this.#reader.servableBytes(this.#definition, entry);
      if (stored === undefined) return undefined;
      frames.push(copiedFrame('ADDED', stored, entry.revision));
    }
    return Buffer.concat(frames);
  }

  /** {@link initial} in passes, for an object that is loaded. */
  *initialIncrementally(entry: CacheEntry): Generator<void, Buffer> {
    if (this.#encoding !== 'protobuf' || this.#transform !== undefined || !isLarge(entry.value.length))
      return this.initial(entry);
    const object = this.#reader.object(this.#definition, entry);
    return protobufWatchFrame('ADDED', yield* protobufIncrementally(object, entry.value.length));
  }

  get #needsColumns(): boolean {
    return this.#transform?.kind === 'Table' && !this.#columnsSent;
  }

  #frame(type: WatchEventType, entry: CacheEntry, revision: number): Buffer {
    const stored = this.copiesObjects ? this.#reader.servableBytes(this.#definition, entry) : undefined;
    if (stored !== undefined) return copiedFrame(type, stored, revision);
    const before = frameStart(type);
    const source = { value: entry.value, revision };
    const copied = this.#copiedForm;
    if (copied !== undefined) return Buffer.from(`${before}${storedPartialObject(source, copied)}}\n`);
    let object = this.#reader.object(this.#definition, entry);
    if (revision !== entry.revision) {
      object = {
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(revision) },
      };
    }
    if (this.#encoding === 'protobuf')
      return protobufWatchFrame(type, protobufObject(object, this.#transform, entry.value.length));
    return Buffer.from(`${before}${this.#text(object, source)}}\n`);
  }

  /** `source`: what the object was read from. */
  #text(object: DeepReadonly<KubeObject>, source?: StoredObject): string {
    const transform = this.#transform;
    if (transform === undefined) return encodeForWire(object as KubeObject).toString('utf8');
    if (transform.kind !== 'Table') return partialObject(object, transform);
    const columns = !this.#columnsSent;
    this.#columnsSent = true;
    return tableOfOne(this.#definition, object, transform, this.#include, this.#now(), columns, source);
  }

  /** A bookmark: all events up to `revision` were sent. `initialEnd`: it ends the initial events. */
  bookmark(revision: number, initialEnd: boolean): Buffer {
    const metadata: KubeObject['metadata'] = {
      resourceVersion: String(revision),
      ...(initialEnd ? { annotations: { [initialEventsEnd]: 'true' } } : {}),
    };
    const { kind, schema } = this.#definition;
    // A typed object has its required fields also when it is empty.
    const object = {
      ...schema.emptyObject(),
      kind,
      apiVersion: apiVersionOf(this.#definition),
      metadata,
    } as KubeObject;
    if (this.#encoding === 'protobuf') return protobufWatchFrame('BOOKMARK', protobufObject(object, this.#transform));
    return Buffer.from(`{"type":"BOOKMARK","object":${this.#bookmarkText(object)}}\n`);
  }

  #bookmarkText(object: KubeObject): string {
    const transform = this.#transform;
    if (transform?.kind !== 'Table') return this.#text(object);
    const columns = this.#columnsSent ? '"columnDefinitions":null' : columnDefinitions(this.#definition);
    this.#columnsSent = true;
    const { resourceVersion } = object.metadata;
    const cells = this.#definition.tableConvertor.columns.map(() => '');
    const shown =
      this.#include === 'None'
        ? 'null'
        : this.#include === 'Object'
          ? encodeForWire(object).toString('utf8')
          : partialObject(object, transform);
    return `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}","metadata":{"resourceVersion":${JSON.stringify(resourceVersion)}},${columns},"rows":[{"cells":${JSON.stringify(cells)},"object":${shown}}]}`;
  }
}

const frameStart = (type: WatchEventType): string => `{"type":"${type}","object":`;

const copiedFrame = (type: WatchEventType, stored: Buffer, revision: number): Buffer =>
  spliced(stored, revision, frameStart(type), '}\n');

/** The ERROR event that ends a watch; a Status, whatever the transform. */
export function errorFrame(error: StatusError, encoding: Encoding): Buffer {
  const status = error.toStatus();
  if (encoding === 'protobuf')
    return protobufWatchFrame('ERROR', encodeProtobufObject(status as unknown as JsonObject));
  return Buffer.from(`{"type":"ERROR","object":${encodeJson(status)}}\n`);
}

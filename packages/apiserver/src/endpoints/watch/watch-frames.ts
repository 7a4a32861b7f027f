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
import { encodeForWire, encodeForWireIncrementally } from '../../registry/codec/object-codec.ts';
import { spliced } from '../../registry/codec/stored-layout.ts';
import type { ObjectSource } from '../../registry/store/object-source.ts';
import { type Abortable, isLarge, laneOf, whileTimeLasts } from '../../time-slices.ts';
import { protobufIncrementally, protobufObject, protobufWatchFrame } from '../response/protobuf-response.ts';
import {
  columnDefinitions,
  copiesMetadata,
  partialObject,
  storedPartialObject,
  tableOfOne,
  tableOfOneIncrementally,
  partialObjectIncrementally,
  type StoredObject,
} from '../response/table-writer.ts';
import type { FramesInFlight } from './frames-in-flight.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** The annotation of the bookmark after the initial events. */
const initialEventsEnd = 'k8s.io/initial-events-end';

export interface WatchFramesOptions {
  readonly definition: ResourceDefinition;
  readonly encoding: Encoding;
  readonly transform: Transform | undefined;
  readonly include: IncludeObject;
}

export interface WatchFramesModules {
  readonly reader: ObjectSource;
  readonly now: () => Date;
  readonly inFlight: FramesInFlight;
}

/** What a frame shows, besides the object. */
interface Shown {
  readonly type: WatchEventType;
  readonly revision: number;
  /** Of a table: its columns, too. */
  readonly columns: boolean;
}

/**
 * Encodes the events of a watch: lines of JSON, or protobuf messages with a length prefix. A frame is encoded once for all
 * watches that receive the same bytes; it is kept in the event's memo, under a key of everything that determines the bytes. A large
 * object that is not sent as it is stored is parsed, converted and encoded in time slices.
 */
export class WatchFrames {
  readonly #definition: ResourceDefinition;
  readonly #encoding: Encoding;
  readonly #transform: Transform | undefined;
  readonly #include: IncludeObject;
  readonly #reader: ObjectSource;
  readonly #now: () => Date;
  readonly #inFlight: FramesInFlight;
  readonly #memoKeys: Readonly<Record<WatchEventType, string>>;
  /** Tables contain column definitions in the first event only. */
  #columnsSent = false;

  constructor(options: WatchFramesOptions, modules: WatchFramesModules) {
    this.#definition = options.definition;
    this.#encoding = options.encoding;
    this.#transform = options.transform;
    this.#include = options.include;
    this.#reader = modules.reader;
    this.#now = modules.now;
    this.#inFlight = modules.inFlight;
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
  event(type: WatchEventType, event: CacheEvent, caller: Abortable): Buffer | Promise<Buffer> {
    const key = this.#memoKeys[type];
    const columns = this.#takeColumns();
    const shared = columns ? undefined : event.memo.get(key);
    if (shared !== undefined) return shared;
    const entry = (type === 'DELETED' ? event.previous : event.current) as CacheEntry;
    const shown = { type, revision: event.revision, columns };
    if (this.#isLong(entry)) {
      // Other watches wait for it, too, when this one ends.
      const work = { cluster: laneOf(caller) };
      if (columns) return this.#longFrame(entry, shown, work);
      return this.#inFlight.of(event, key, async () => {
        const frame = await this.#longFrame(entry, shown, work);
        event.memo.set(key, frame);
        return frame;
      });
    }
    const frame = this.#frame(entry, shown);
    if (!columns) event.memo.set(key, frame);
    return frame;
  }

  /** An initial event. */
  initial(entry: CacheEntry, caller: Abortable): Buffer | Promise<Buffer> {
    const shown = { type: 'ADDED', revision: entry.revision, columns: this.#takeColumns() } as const;
    return this.#isLong(entry) ? this.#longFrame(entry, shown, caller) : this.#frame(entry, shown);
  }

  /** Whether frames of stored objects contain their bytes as they are, if no object has to be converted. */
  get copiesObjects(): boolean {
    return this.#transform === undefined && this.#encoding === 'json';
  }

  /**
   * {@link initial} of several entries, which takes no long step; undefined if one of them has to be converted or checked first. Only
   * if {@link copiesObjects}.
   */
  initialRun(entries: readonly CacheEntry[]): Buffer | undefined {
    const frames: Buffer[] = [];
    for (const entry of entries) {
      if (!this.#reader.isChecked(this.#definition, entry)) return undefined;
      const stored = this.#reader.servableBytes(this.#definition, entry);
      if (stored === undefined) return undefined;
      frames.push(copiedFrame('ADDED', stored, entry.revision));
    }
    return Buffer.concat(frames);
  }

  /** Whether the next frame is the first table. */
  #takeColumns(): boolean {
    if (this.#transform?.kind !== 'Table' || this.#columnsSent) return false;
    this.#columnsSent = true;
    return true;
  }

  /** Whether making the frame of an entry may take longer than a time slice. */
  #isLong(entry: CacheEntry): boolean {
    if (!isLarge(this.#reader.sizeOf(entry)) || this.#copiedForm !== undefined) return false;
    if (!this.copiesObjects || !this.#reader.isChecked(this.#definition, entry)) return true;
    return this.#reader.servableBytes(this.#definition, entry) === undefined;
  }

  /** Takes a converted object from its view synchronously: the view releases it when the event is delivered. */
  async #longFrame(entry: CacheEntry, shown: Shown, caller: Abortable): Promise<Buffer> {
    const reading = this.#reader.objectIncrementally(this.#definition, entry);
    const loading = this.#reader.load(entry, caller);
    if (loading !== undefined) await loading;
    return whileTimeLasts(this.#frameIncrementally(entry, reading, shown), caller);
  }

  #frame(entry: CacheEntry, shown: Shown): Buffer {
    const { type, revision, columns } = shown;
    const stored = this.copiesObjects ? this.#reader.servableBytes(this.#definition, entry) : undefined;
    if (stored !== undefined) return copiedFrame(type, stored, revision);
    const source = { value: entry.value, revision };
    const copied = this.#copiedForm;
    if (copied !== undefined) return Buffer.from(`${beforeObject(type)}${storedPartialObject(source, copied)}}\n`);
    const object = atRevision(this.#reader.object(this.#definition, entry), revision);
    if (this.#encoding === 'protobuf')
      return protobufWatchFrame(type, protobufObject(object, this.#transform, entry.value.length));
    return Buffer.from(`${beforeObject(type)}${this.#text(object, columns, source)}}\n`);
  }

  /** {@link #frame} in passes, of an entry that is loaded. `reading` returns its object. */
  *#frameIncrementally(
    entry: CacheEntry,
    reading: Generator<void, DeepReadonly<KubeObject>>,
    { type, revision, columns }: Shown,
  ): Generator<void, Buffer> {
    const read = yield* reading;
    yield;
    // It may have been checked just now.
    const stored = this.copiesObjects ? this.#reader.servableBytes(this.#definition, entry) : undefined;
    if (stored !== undefined) return copiedFrame(type, stored, revision);
    const object = atRevision(read, revision);
    if (this.#encoding === 'protobuf') {
      const encoded = yield* protobufIncrementally(object, this.#transform, entry.value.length);
      yield;
      return protobufWatchFrame(type, encoded);
    }
    const text = yield* this.#textIncrementally(object, columns, { value: entry.value, revision });
    yield;
    return Buffer.from(`${beforeObject(type)}${text}}\n`);
  }

  /** `source`: what the object was read from. */
  #text(object: DeepReadonly<KubeObject>, columns: boolean, source?: StoredObject): string {
    const transform = this.#transform;
    if (transform === undefined) return encodeForWire(object as KubeObject).toString('utf8');
    if (transform.kind !== 'Table') return partialObject(object, transform);
    return tableOfOne(this.#definition, object, transform, this.#include, this.#now(), columns, source);
  }

  /** {@link #text} in passes. */
  *#textIncrementally(
    object: DeepReadonly<KubeObject>,
    columns: boolean,
    source: StoredObject,
  ): Generator<void, string> {
    const transform = this.#transform;
    if (transform === undefined) return yield* encodeForWireIncrementally(object as KubeObject);
    if (transform.kind !== 'Table') return yield* partialObjectIncrementally(object, transform);
    return yield* tableOfOneIncrementally(
      this.#definition,
      object,
      transform,
      this.#include,
      this.#now(),
      columns,
      source,
    );
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
    if (transform?.kind !== 'Table') return this.#text(object, false);
    const columns = this.#takeColumns() ? columnDefinitions(this.#definition) : '"columnDefinitions":null';
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

const beforeObject = (type: WatchEventType): string => `{"type":"${type}","object":`;

const copiedFrame = (type: WatchEventType, stored: Buffer, revision: number): Buffer =>
  spliced(stored, revision, beforeObject(type), '}\n');

const atRevision = (object: DeepReadonly<KubeObject>, revision: number): DeepReadonly<KubeObject> =>
  object.metadata.resourceVersion === String(revision)
    ? object
    : { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };

/** The ERROR event that ends a watch; a Status, whatever the transform. */
export function errorFrame(error: StatusError, encoding: Encoding): Buffer {
  const status = error.toStatus();
  if (encoding === 'protobuf')
    return protobufWatchFrame('ERROR', encodeProtobufObject(status as unknown as JsonObject));
  return Buffer.from(`{"type":"ERROR","object":${encodeJson(status)}}\n`);
}

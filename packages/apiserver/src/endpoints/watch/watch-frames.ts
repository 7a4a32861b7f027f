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
import type { CacheEntry, CacheEvent } from '@multiplane/storage';
import { encodeForWire, spliced } from '../registry/object-codec.ts';
import type { ObjectSource } from '../registry/object-reader.ts';
import type { Encoding, Transform } from './negotiation.ts';
import { protobufObject, protobufWatchFrame } from './protobuf-answer.ts';
import { columnDefinitions, partialObject, tableOfOne } from './table-writer.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Marks the bookmark after the initial events (K3.4). */
const initialEventsEnd = 'k8s.io/initial-events-end';

export interface WatchFramesOptions {
  readonly definition: ResourceDefinition;
  readonly encoding: Encoding;
  readonly transform: Transform | undefined;
  readonly include: IncludeObject;
}

/**
 * The frames of one watch: lines of JSON, or messages of protobuf behind their length. A frame for an event of the cache
 * is made once for all watchers that get the same bytes; it waits in the event's memo under a key that names all that
 * decides over it.
 */
export class WatchFrames {
  readonly #definition: ResourceDefinition;
  readonly #encoding: Encoding;
  readonly #transform: Transform | undefined;
  readonly #include: IncludeObject;
  readonly #reader: ObjectSource;
  readonly #now: () => Date;
  readonly #memoKeys: Readonly<Record<WatchEventType, string>>;
  /** Tables name their columns in the first line only. */
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
    // A definition that has changed shows the same event differently: its watches end, and new ones may begin before it.
    const shape = definition.origin === 'custom' ? `${definition.schema.hash} ${definition.conversion?.key ?? ''}` : '';
    const prefix = `${apiVersionOf(definition)} ${shape} ${options.encoding} ${form} `;
    this.#memoKeys = { ADDED: `${prefix}ADDED`, MODIFIED: `${prefix}MODIFIED`, DELETED: `${prefix}DELETED` };
  }

  /** A change. A removal, also one by leaving the selection, shows the object as it was, with the revision of the change. */
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

  /** An object that is there when the watch begins. */
  initial(entry: CacheEntry): Buffer {
    return this.#frame('ADDED', entry, entry.revision);
  }

  get #needsColumns(): boolean {
    return this.#transform?.kind === 'Table' && !this.#columnsSent;
  }

  #frame(type: WatchEventType, entry: CacheEntry, revision: number): Buffer {
    const before = `{"type":"${type}","object":`;
    const stored =
      this.#transform === undefined && this.#encoding === 'json'
        ? this.#reader.servableBytes(this.#definition, entry)
        : undefined;
    if (stored !== undefined) return spliced(stored, revision, before, '}\n');
    let object = this.#reader.object(this.#definition, entry);
    if (revision !== entry.revision) {
      object = {
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(revision) },
      };
    }
    if (this.#encoding === 'protobuf')
      return protobufWatchFrame(type, protobufObject(object, this.#transform, entry.value.length));
    return Buffer.from(`${before}${this.#text(object)}}\n`);
  }

  #text(object: DeepReadonly<KubeObject>): string {
    const transform = this.#transform;
    if (transform === undefined) return encodeForWire(object as KubeObject).toString('utf8');
    if (transform.kind !== 'Table') return partialObject(object, transform);
    const columns = !this.#columnsSent;
    this.#columnsSent = true;
    return tableOfOne(this.#definition, object, transform, this.#include, this.#now(), columns);
  }

  /** Tells that everything up to a revision was sent; `initialEnd` for the one after the initial events. */
  bookmark(revision: number, initialEnd: boolean): Buffer {
    const metadata: KubeObject['metadata'] = {
      resourceVersion: String(revision),
      ...(initialEnd ? { annotations: { [initialEventsEnd]: 'true' } } : {}),
    };
    const { kind } = this.#definition;
    const object = { kind, apiVersion: apiVersionOf(this.#definition), metadata } as KubeObject;
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

/** What ends a watch that cannot go on: never transformed (K1.4). */
export function errorFrame(error: StatusError, encoding: Encoding): Buffer {
  const status = error.toStatus();
  if (encoding === 'protobuf')
    return protobufWatchFrame('ERROR', encodeProtobufObject(status as unknown as JsonObject));
  return Buffer.from(`{"type":"ERROR","object":${encodeJson(status)}}\n`);
}

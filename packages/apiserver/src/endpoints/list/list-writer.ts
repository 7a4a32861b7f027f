import { type IncludeObject, apiVersionOf, encodeYaml } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import type { RequestContext } from '../request-context.ts';
import {
  addedBytes,
  BufferSink,
  encodeForWire,
  itemOffset,
  pushListItem,
  revisionOffset,
  revisionText,
} from '../registry/object-codec.ts';
import type { ListBlocks } from '../registry/list-blocks.ts';
import { metadataEnd } from '../registry/metadata-scanner.ts';
import type { ObjectSource } from '../registry/object-reader.ts';
import type { ObjectView } from '../registry/object-view.ts';
import { encodeObject } from '../responses.ts';
import { ChunkedBody } from './chunked-body.ts';
import type { ListPage } from './list-page.ts';
import type { Negotiated, Transform } from './negotiation.ts';
import { inWireOrder } from './object-response.ts';
import { writeProtobufList } from './protobuf-list.ts';
import { columnDefinitions, includeObjectOf, partialObject, tableRow } from './table-writer.ts';

const comma = 0x2c;

/** What a list looks like around its items, and how one item is written. */
interface ListForm {
  readonly head: string;
  /** Between items. */
  readonly separator: ',' | '';
  readonly tail: string;
  /** The whole answer when there is no item, where it is not head and tail. */
  readonly empty?: string | undefined;
  item(body: ChunkedBody, entry: CacheEntry): void;
  /** Several items, each behind a comma, where that is nothing but stored bytes. */
  readonly run?: (entries: readonly CacheEntry[]) => Buffer | undefined;
}

export interface ListToWrite {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly negotiated: Negotiated;
  readonly page: ListPage;
  readonly revision: number;
  readonly reader: ObjectSource;
  /** The reader, when its objects must be converted first. */
  readonly view?: ObjectView | undefined;
  readonly now: Date;
  /** Encoded parts of lists that were asked for before. */
  readonly blocks?: ListBlocks | undefined;
}

/** Writes a list, item by item (K1.4); never holds the event loop and never has the answer in one piece. */
export async function writeList(list: ListToWrite): Promise<void> {
  const { context, negotiated, page } = list;
  if (negotiated.encoding === 'protobuf') {
    await writeProtobufList({ ...list, metadata: metadataOf(list) });
    return;
  }
  context.exchange.setHeader('content-type', negotiated.mediaType);
  const body = new ChunkedBody(context.exchange, 200, context.signal);
  const form = formOf(list);
  const { run } = form;
  // What must be converted first is not what is stored.
  const blocks = list.view === undefined ? list.blocks : undefined;
  let first = true;
  for (const piece of page.pieces) {
    await list.view?.prepare(piece);
    /** Up to here items are written one by one. */
    let single = 0;
    for (let at = 0; at < piece.length;) {
      if (first) body.pushString(form.head);
      if (at >= single && blocks !== undefined && run !== undefined) {
        const { bytes, count } = blocks.next(list.definition, piece, at, run);
        if (bytes !== undefined) {
          body.pushBlock(first ? bytes.subarray(1) : bytes);
          at += count;
          first = false;
          if (body.shouldPause) await body.checkpoint();
          continue;
        }
        single = at + count;
      }
      if (!first && form.separator !== '') body.pushByte(comma);
      first = false;
      form.item(body, piece[at++] as CacheEntry);
      if (body.shouldPause) await body.checkpoint();
    }
    list.view?.release(piece);
    if (body.shouldPause) await body.checkpoint();
  }
  body.pushString(first ? (form.empty ?? form.head + form.tail) : form.tail);
  body.end();
}

function formOf(list: ListToWrite): ListForm {
  const { negotiated } = list;
  const { transform } = negotiated;
  if (negotiated.encoding === 'yaml' || negotiated.pretty) return readableForm(list);
  if (transform?.kind === 'Table') return tableForm(list, transform);
  if (transform?.kind === 'PartialObjectMetadataList') return partialForm(list, transform);
  return plainForm(list);
}

/** `"resourceVersion":"5","continue":"…","remainingItemCount":3`. */
function metadataOf({ page, revision }: ListToWrite): {
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
} {
  return {
    resourceVersion: String(revision),
    ...(page.continue === '' ? {} : { continue: page.continue }),
    ...(page.remaining === undefined || page.remaining === 0 ? {} : { remainingItemCount: page.remaining }),
  };
}

function plainForm(list: ListToWrite): ListForm {
  const { definition, reader } = list;
  const complete = definition.origin === 'custom';
  const metadata = complete ? { continue: '', ...metadataOf(list) } : metadataOf(list);
  const itemStart = `{"kind":${JSON.stringify(definition.kind)},"apiVersion":${JSON.stringify(apiVersionOf(definition))},`;
  const usualOffset = Buffer.byteLength(itemStart);
  return {
    head: `{"kind":${JSON.stringify(definition.listKind)},"apiVersion":${JSON.stringify(apiVersionOf(definition))},"metadata":${JSON.stringify(metadata)},"items":[`,
    separator: ',',
    tail: ']}\n',
    item(body, entry) {
      const stored = reader.servableBytes(definition, entry);
      if (stored !== undefined) {
        pushListItem(body, stored, entry.revision, complete, usualOffset);
        return;
      }
      const bytes = encodeForWire(reader.object(definition, entry) as never);
      if (complete) {
        body.push(bytes, 0, bytes.length);
      } else {
        body.pushText('{');
        body.push(bytes, itemOffset(bytes), bytes.length);
      }
    },
    run: (entries) => {
      const stored = entries.map((entry) => reader.servableBytes(definition, entry));
      if (!stored.every((bytes) => bytes !== undefined)) return undefined;
      const sink = new BufferSink(stored.reduce((sum, bytes) => sum + bytes.length + addedBytes, 0));
      for (const [index, bytes] of stored.entries()) {
        sink.pushByte(comma);
        pushListItem(sink, bytes, (entries[index] as CacheEntry).revision, complete, usualOffset);
      }
      return sink.bytes;
    },
  };
}

function partialForm(list: ListToWrite, transform: Transform): ListForm {
  const { definition, reader } = list;
  const version = `meta.k8s.io/${transform.version}`;
  const itemHead = `{"kind":"PartialObjectMetadata","apiVersion":"${version}",`;
  return {
    head: `{"kind":"PartialObjectMetadataList","apiVersion":"${version}","metadata":${JSON.stringify(metadataOf(list))},"items":[`,
    separator: ',',
    tail: ']}\n',
    item(body, entry) {
      // Metadata is the same in every version of a kind unless a converter says otherwise: a slice of the bytes will do.
      if (definition.converter !== undefined || definition.conversion !== undefined) {
        body.pushString(partialObject(reader.object(definition, entry), transform));
        return;
      }
      const { value } = entry;
      const offset = revisionOffset(value);
      body.pushText(itemHead);
      body.push(value, itemOffset(value), offset);
      body.pushText(revisionText(entry.revision));
      body.push(value, offset, metadataEnd(value));
      body.pushText('}');
    },
  };
}

function tableForm(list: ListToWrite, transform: Transform): ListForm {
  const { context, definition, reader, now } = list;
  const include: IncludeObject = includeObjectOf(context.info.query);
  const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}","metadata":${JSON.stringify(metadataOf(list))},${columnDefinitions(definition)},"rows":[`;
  return {
    head,
    separator: ',',
    tail: ']}\n',
    // The table that upstream makes for kinds without one of their own starts from a nil list of rows.
    empty: hasDefaultTable(definition) ? `${head.slice(0, -1)}null}\n` : undefined,
    item(body, entry) {
      body.pushString(tableRow(definition, reader.object(definition, entry), transform, include, now));
    },
  };
}

function hasDefaultTable(definition: ResourceDefinition): boolean {
  return definition.origin === 'built-in' && definition.tableConvertor.columns[1]?.name === 'Created At';
}

/** YAML and indented JSON: for people, so item by item and without haste. */
function readableForm(list: ListToWrite): ListForm {
  const { context, definition, negotiated, reader, now } = list;
  const { transform } = negotiated;
  const plain = formOf({ ...list, negotiated: { ...negotiated, encoding: 'json', pretty: false } });
  const skeleton = JSON.parse(plain.head + plain.tail) as Record<string, unknown>;
  const field = transform?.kind === 'Table' ? 'rows' : 'items';
  const include = includeObjectOf(context.info.query);
  const itemOf = (entry: CacheEntry): unknown => {
    const object = reader.object(definition, entry);
    if (transform?.kind === 'Table') return JSON.parse(tableRow(definition, object, transform, include, now));
    if (transform !== undefined) return JSON.parse(partialObject(object, transform));
    const whole = inWireOrder(object) as Record<string, unknown>;
    if (definition.origin === 'built-in') {
      delete whole['kind'];
      delete whole['apiVersion'];
    }
    return whole;
  };
  if (negotiated.encoding === 'yaml') return yamlForm(skeleton, field, itemOf);
  const text = encodeObject(skeleton, negotiated);
  const end = text.lastIndexOf('[]');
  return {
    empty: text,
    head: `${text.slice(0, end)}[`,
    separator: ',',
    tail: `\n  ]${text.slice(end + 2)}`,
    item(body, entry) {
      body.pushString(`\n    ${encodeObject(itemOf(entry), negotiated).replaceAll('\n', '\n    ')}`);
    },
  };
}

/** Members in the order of their names; the list stands between those before it and those after it. */
function yamlForm(skeleton: Record<string, unknown>, field: string, itemOf: (entry: CacheEntry) => unknown): ListForm {
  const before: Record<string, unknown> = {};
  const after: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(skeleton)) {
    if (key !== field) (key < field ? before : after)[key] = value;
  }
  const rest = Object.keys(after).length === 0 ? '' : encodeYaml(after);
  return {
    head: `${encodeYaml(before)}${field}:\n`,
    separator: '',
    tail: rest,
    empty: `${encodeYaml(before)}${field}: []\n${rest}`,
    item(body, entry) {
      body.pushString(encodeYaml([itemOf(entry)] as never));
    },
  };
}

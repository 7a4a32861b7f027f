import { type IncludeObject, type KubeObject, apiVersionOf } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { traced } from '@multiplane/component-base';
import type { Transform } from '@multiplane/generic-server';
import type { CacheEntry } from '@multiplane/storage';
import { encodeForWire, encodeForWireIncrementally } from '../../registry/codec/object-codec.ts';
import { metadataEnd } from '../../registry/codec/metadata-scanner.ts';
import { addedBytes, BufferSink, pushListItem } from '../../registry/codec/list-item.ts';
import { itemOffset, revisionOffset, revisionText } from '../../registry/codec/stored-layout.ts';
import { isLarge, whileTimeLasts } from '../../time-slices.ts';
import { ChunkedBody } from '../response/chunked-body.ts';
import type { LargeItem, ListForm } from './list-form.ts';
import type { ListResponse } from './list-response.ts';
import { writeProtobufList } from './protobuf-list-writer.ts';
import { readableForm } from './readable-list-form.ts';
import {
  columnDefinitions,
  copiesMetadata,
  includeObjectOf,
  partialObject,
  partialObjectIncrementally,
  tableRow,
  tableRowIncrementally,
} from '../response/table-writer.ts';
import { hasVirtualView } from '../virtual-view.ts';

const comma = 0x2c;

/** Writes a list item by item, in time slices; the response is never in memory as a whole. */
export function writeList(list: ListResponse): Promise<void> {
  // With the time that the client takes to read, other than for one object.
  return traced('serialize', () => writeItems(list));
}

async function writeItems(list: ListResponse): Promise<void> {
  const { context, negotiated, page } = list;
  if (negotiated.encoding === 'protobuf') {
    await writeProtobufList({ ...list, metadata: metadataOf(list) });
    return;
  }
  context.exchange.setHeader('content-type', negotiated.mediaType);
  const body = new ChunkedBody(context, 200);
  const form = formOf(list);
  const { run } = form;
  // Cached blocks contain stored bytes, so objects that are converted cannot use them.
  const blocks = list.view === undefined && !hasVirtualView(context.info.query, 'kinds') ? list.blocks : undefined;
  let first = true;
  for (const piece of page.pieces) {
    await list.view?.prepare(piece);
    /** Up to here items are written one by one. */
    let single = 0;
    for (let at = 0; at < piece.length;) {
      if (first) body.pushString(form.head);
      if (at >= single && blocks !== undefined && run !== undefined) {
        const { bytes, count } = blocks.next(list.definition, piece, at, run, first ? 1 : 0);
        if (bytes !== undefined) {
          body.pushBlock(bytes);
          at += count;
          first = false;
          if (body.shouldPause) await body.checkpoint();
          continue;
        }
        single = at + count;
      }
      if (!first && form.separator !== '') body.pushByte(comma);
      first = false;
      const entry = piece[at++] as CacheEntry;
      const loaded =
        form.parses === true ? list.reader.load(entry, context) : list.reader.check(list.definition, entry, context);
      if (loaded !== undefined) {
        await loaded;
        if (body.shouldPause) await body.checkpoint();
      }
      const large = isLarge(list.reader.sizeOf(entry)) ? form.large?.(body, entry) : undefined;
      if (large === undefined) form.item(body, entry);
      else await writeLarge(list, body, entry, large);
      if (body.shouldPause) await body.checkpoint();
    }
    list.view?.release(piece);
    if (body.shouldPause) await body.checkpoint();
  }
  body.pushString(first ? (form.empty ?? form.head + form.tail) : form.tail);
  body.end();
}

async function writeLarge(
  { context, definition, reader }: ListResponse,
  body: ChunkedBody,
  entry: CacheEntry,
  write: LargeItem,
): Promise<void> {
  const loading = reader.load(entry, context);
  if (loading !== undefined) await loading;
  await write(await whileTimeLasts(reader.objectIncrementally(definition, entry), context));
  if (body.shouldPause) await body.checkpoint();
}

function formOf(list: ListResponse): ListForm {
  const { negotiated } = list;
  const { transform } = negotiated;
  if (negotiated.encoding === 'yaml' || negotiated.pretty) {
    const plain = formOf({ ...list, negotiated: { ...negotiated, encoding: 'json', pretty: false } });
    return readableForm(list, plain);
  }
  if (transform?.kind === 'Table') return tableForm(list, transform);
  if (transform?.kind === 'PartialObjectMetadataList') return partialForm(list, transform);
  return plainForm(list);
}

/** `"resourceVersion":"5","continue":"…","remainingItemCount":3`. */
function metadataOf({ page, revision }: ListResponse): {
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

function plainForm(list: ListResponse): ListForm {
  const { definition, reader } = list;
  const isCustom = definition.origin === 'custom';
  const complete = isCustom || hasVirtualView(list.context.info.query, 'kinds');
  const metadata = isCustom ? { continue: '', ...metadataOf(list) } : metadataOf(list);
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
    large: (body, entry) =>
      reader.servableBytes(definition, entry) !== undefined
        ? undefined
        : async (object) => {
            const text = await whileTimeLasts(encodeForWireIncrementally(object as KubeObject), list.context);
            const bytes = Buffer.from(text);
            if (!complete) body.pushText('{');
            body.push(bytes, complete ? 0 : itemOffset(bytes), bytes.length);
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

function partialForm(list: ListResponse, transform: Transform): ListForm {
  const { definition, reader } = list;
  const version = `meta.k8s.io/${transform.version}`;
  const itemHead = `{"kind":"PartialObjectMetadata","apiVersion":"${version}",`;
  const head = `{"kind":"PartialObjectMetadataList","apiVersion":"${version}","metadata":${JSON.stringify(metadataOf(list))},"items":[`;
  return {
    head,
    separator: ',',
    tail: ']}\n',
    // The list that Kubernetes makes of an empty one has nil items.
    empty: `${head.slice(0, -1)}null}\n`,
    large: (body) =>
      copiesMetadata(definition, transform)
        ? undefined
        : async (object) =>
            body.pushString(await whileTimeLasts(partialObjectIncrementally(object, transform), list.context)),
    item(body, entry) {
      if (!copiesMetadata(definition, transform)) {
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

function tableForm(list: ListResponse, transform: Transform): ListForm {
  const { context, definition, reader, now } = list;
  const include: IncludeObject = includeObjectOf(context.info.query);
  const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}","metadata":${JSON.stringify(metadataOf(list))},${columnDefinitions(definition)},"rows":[`;
  return {
    head,
    separator: ',',
    tail: ']}\n',
    // The default table of Kubernetes has nil rows if there are no objects.
    empty: hasDefaultTable(definition) ? `${head.slice(0, -1)}null}\n` : undefined,
    parses: true,
    large: (body, entry) => async (object) => {
      const row = tableRowIncrementally(definition, object, transform, include, now, entry);
      body.pushString(await whileTimeLasts(row, context));
    },
    item(body, entry) {
      body.pushString(tableRow(definition, reader.object(definition, entry), transform, include, now, entry));
    },
  };
}

function hasDefaultTable(definition: ResourceDefinition): boolean {
  return definition.origin === 'built-in' && definition.tableConvertor.columns[1]?.name === 'Created At';
}

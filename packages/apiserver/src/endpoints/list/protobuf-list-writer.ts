import {
  type JsonObject,
  type KubeObject,
  apiVersionOf,
  parseJson,
  protobufEnvelopeTail,
} from '@multiplane/apimachinery';
import { encodeProtobufMessage } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import { ChunkedBody } from '../response/chunked-body.ts';
import type { ListResponse } from './list-response.ts';
import { partialMessage, protobufItemHead, protobufListHead } from '../response/protobuf-response.ts';

/** An item of its own, or a cached segment. */
type Part = { readonly entry: CacheEntry; readonly item: Buffer | undefined } | Buffer;

/** Bytes of encoded items that are kept between the two passes; the others are encoded twice. */
const maxKeptBytes = 4 * 1024 * 1024;

/**
 * Writes a list in protobuf. The envelope starts with the length of the whole response, so there are two passes:
 *  1. each item is encoded and measured, unless it is in a cached segment; encoded items are kept up to a limit;
 *  2. head and items are written as fast as the client reads; items that were not kept are encoded again.
 * So a list of any size takes a bounded amount of memory. Both passes run in time slices.
 */
export async function writeProtobufList(list: ListResponse & { readonly metadata: JsonObject }): Promise<void> {
  const { context, definition, negotiated, page, reader, metadata } = list;
  const { transform } = negotiated;
  const apiVersion = apiVersionOf(definition);
  const encode = (entry: CacheEntry): Buffer => {
    const object = readOnce(list, entry) ?? reader.object(definition, entry);
    return transform === undefined
      ? encodeProtobufMessage(apiVersion, definition.kind, object as unknown as JsonObject, entry.value.length)
      : partialMessage(object);
  };

  // Segments contain whole objects as they are stored.
  const blocks = list.view === undefined && transform === undefined ? list.protobufBlocks : undefined;
  const encodeRun = (run: readonly CacheEntry[]): Buffer =>
    Buffer.concat(
      run.flatMap((entry) => {
        const item = encode(entry);
        return [protobufItemHead(item.length), item];
      }),
    );

  const parts: Part[] = [];
  let keptBytes = 0;
  let total = 0;
  const slices = timeSlices(context.info.cluster);
  for (const piece of page.pieces) {
    await list.view?.prepare(piece);
    /** Up to here items are encoded one by one. */
    let single = 0;
    for (let at = 0; at < piece.length;) {
      const { bytes, count = 1 }: { readonly bytes?: Buffer | undefined; readonly count?: number } =
        at >= single && blocks !== undefined ? blocks.next(definition, piece, at, encodeRun) : {};
      if (bytes === undefined) {
        if (at >= single) single = at + count;
        const entry = piece[at++] as CacheEntry;
        const item = encode(entry);
        total += protobufItemHead(item.length).length + item.length;
        const isKept = keptBytes + item.length <= maxKeptBytes;
        if (isKept) keptBytes += item.length;
        parts.push({ entry, item: isKept ? item : undefined });
      } else {
        parts.push(bytes);
        total += bytes.length;
        at += count;
      }
      if (!slices.isExceeded) continue;
      await slices.yield();
      context.signal.throwIfAborted();
    }
  }

  context.exchange.setHeader('content-type', negotiated.mediaType);
  const body = new ChunkedBody(context, 200);
  const push = (bytes: Buffer): void => body.push(bytes, 0, bytes.length);
  push(
    transform === undefined
      ? protobufListHead(apiVersion, definition.listKind, metadata, total)
      : protobufListHead(`meta.k8s.io/${transform.version}`, 'PartialObjectMetadataList', metadata, total),
  );
  for (const part of parts) {
    if (Buffer.isBuffer(part)) {
      body.pushBlock(part);
    } else {
      const item = part.item ?? encode(part.entry);
      push(protobufItemHead(item.length));
      push(item);
    }
    if (body.shouldPause) await body.checkpoint();
  }
  push(protobufEnvelopeTail);
  body.end();
}

const openingBrace = 0x7b;

/**
 * The object of an entry for this response alone: of a long list most objects are not requested again, so freezing and caching
 * them would cost more than parsing. Undefined if the entry has to be converted or cannot be read.
 */
function readOnce({ definition, reader }: ListResponse, entry: CacheEntry): KubeObject | undefined {
  const stored = reader.servableBytes(definition, entry);
  if (stored?.[0] !== openingBrace) return undefined;
  const object = parseJson(stored) as unknown as KubeObject;
  object.metadata.resourceVersion = String(entry.revision);
  return object;
}

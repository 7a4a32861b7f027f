import { type JsonObject, apiVersionOf, protobufEnvelopeTail } from '@multiplane/apimachinery';
import { encodeProtobufMessage } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import { ChunkedBody } from '../response/chunked-body.ts';
import type { ListResponse } from './list-response.ts';
import { partialMessage, protobufItemHead, protobufListHead } from '../response/protobuf-response.ts';

/** Bytes of encoded items that are kept between the two passes; the others are encoded twice. */
const maxKeptBytes = 4 * 1024 * 1024;

/**
 * Writes a list in protobuf. The envelope starts with the length of the whole response, so there are two passes:
 *  1. each item is encoded and measured; encoded items are kept up to a limit;
 *  2. head and items are written as fast as the client reads; items that were not kept are encoded again.
 * So a list of any size takes a bounded amount of memory. Both passes run in time slices.
 */
export async function writeProtobufList(list: ListResponse & { readonly metadata: JsonObject }): Promise<void> {
  const { context, definition, negotiated, page, reader, metadata } = list;
  const { transform } = negotiated;
  const apiVersion = apiVersionOf(definition);
  const encode = (entry: CacheEntry): Buffer => {
    const object = reader.object(definition, entry);
    return transform === undefined
      ? encodeProtobufMessage(apiVersion, definition.kind, object as unknown as JsonObject, entry.value.length)
      : partialMessage(object);
  };

  const entries: CacheEntry[] = [];
  const kept: Buffer[] = [];
  let total = 0;
  const slices = timeSlices();
  for (const piece of page.pieces) {
    await list.view?.prepare(piece);
    for (const entry of piece) {
      const item = encode(entry);
      entries.push(entry);
      total += protobufItemHead(item.length).length + item.length;
      if (total <= maxKeptBytes) kept.push(item);
      if (!slices.isExceeded) continue;
      await slices.yield();
      context.signal.throwIfAborted();
    }
  }

  context.exchange.setHeader('content-type', negotiated.mediaType);
  const body = new ChunkedBody(context.exchange, 200, context.signal);
  const push = (bytes: Buffer): void => body.push(bytes, 0, bytes.length);
  push(
    transform === undefined
      ? protobufListHead(apiVersion, definition.listKind, metadata, total)
      : protobufListHead(`meta.k8s.io/${transform.version}`, 'PartialObjectMetadataList', metadata, total),
  );
  for (const [index, entry] of entries.entries()) {
    const item = kept[index] ?? encode(entry);
    push(protobufItemHead(item.length));
    push(item);
    if (body.shouldPause) await body.checkpoint();
  }
  push(protobufEnvelopeTail);
  body.end();
}

import { type JsonObject, apiVersionOf, protobufEnvelopeTail } from '@multiplane/apimachinery';
import { encodeProtobufMessage } from '@multiplane/apis';
import { slicesOfTurns } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import { ChunkedBody } from './chunked-body.ts';
import type { ListToWrite } from './list-writer.ts';
import { partialMessage, protobufItemHead, protobufListHead } from './protobuf-answer.ts';

/** Bytes of encoded items that are kept between measuring and sending; the others are encoded again. */
const maxKeptBytes = 4 * 1024 * 1024;

/**
 * Writes a list in protobuf (K1.4). The envelope begins with the length of everything, so the items are measured before
 * the first byte goes out:
 *  1. each item is encoded; what fits into a bound is kept, of the others only the length;
 *  2. head, then the items, as fast as the client reads; what was not kept is encoded once more.
 * So a list of any size takes a bounded amount of memory, and every step lets others have their turn.
 */
export async function writeProtobufList(list: ListToWrite & { readonly metadata: JsonObject }): Promise<void> {
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
  const slices = slicesOfTurns();
  for (const piece of page.pieces) {
    await list.view?.prepare(piece);
    for (const entry of piece) {
      const item = encode(entry);
      entries.push(entry);
      total += protobufItemHead(item.length).length + item.length;
      if (total <= maxKeptBytes) kept.push(item);
      if (!slices.over) continue;
      await slices.next();
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

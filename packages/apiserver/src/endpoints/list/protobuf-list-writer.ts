import {
  type JsonObject,
  type KubeObject,
  WireWriter,
  apiVersionOf,
  asJson,
  parseJson,
  protobufEnvelopeTail,
} from '@multiplane/apimachinery';
import { encodeProtobufMessage, encodeProtobufMessageIncrementally, transcodeProtobufMessage } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';
import { isLarge, whileTimeLasts } from '../../time-slices.ts';
import { ChunkedBody } from '../response/chunked-body.ts';
import type { ListBytes } from '../../registry/store/kept-bytes.ts';
import type { ListResponse } from './list-response.ts';
import { partialMessage, partialMessageIncrementally, protobufListHead } from '../response/protobuf-response.ts';

type ProtobufListResponse = ListResponse & { readonly metadata: JsonObject };

/** Consecutive items that are encoded again when they are written, or their bytes. */
type Part = { readonly run: readonly CacheEntry[] } | Buffer;

/** Items that are encoded in one step, where the cached segments do not divide the list; fewer if they are large. */
const itemsPerRun = 16;
/** Items of this length are parsed and encoded in time slices: one step may take 150 ms. */
const wideItemBytes = 256 * 1024;
/** Shorter runs are copied together: each write to the socket costs more than the copy. */
const minBlockBytes = 32 * 1024;
/** The number of the field `items` in all lists. */
const itemsField = 2;

/**
 * Writes a list in protobuf. The envelope starts with the length of the whole response, so there are two passes:
 *  1. runs of items are encoded and measured, unless they are in a cached segment; encoded runs are kept up to limits;
 *  2. head and runs are written as fast as the client reads; runs that were not kept are encoded again.
 * So a list of any size takes a bounded amount of memory. Both passes run in time slices.
 */
export async function writeProtobufList(list: ProtobufListResponse): Promise<void> {
  const kept = list.keptBytes.open();
  try {
    await writeInTwoPasses(list, kept);
  } finally {
    kept.release();
  }
}

async function writeInTwoPasses(list: ProtobufListResponse, kept: ListBytes): Promise<void> {
  const { context, definition, negotiated, page, metadata } = list;
  const { transform } = negotiated;
  const apiVersion = apiVersionOf(definition);
  const encode = (run: readonly CacheEntry[]): Buffer => encodeRun(list, apiVersion, run);

  // Segments contain whole objects as they are stored.
  const blocks = list.view === undefined && transform === undefined ? list.protobufBlocks : undefined;
  const parts: Part[] = [];
  let total = 0;
  const slices = timeSlices(context.info.cluster);
  for (const piece of page.pieces) {
    await list.view?.prepare(piece);
    for (let at = 0; at < piece.length;) {
      const first = piece[at] as CacheEntry;
      // A run of its own in any case.
      const wide = blocks?.has(definition, piece, at) === true ? undefined : await encodeWide(list, apiVersion, first);
      const next = blocks?.next(definition, piece, at, (run) => wide ?? encode(run));
      const run = piece.slice(at, at + (next?.count ?? runLength(piece, at)));
      const bytes = next?.bytes ?? wide ?? encode(run);
      total += bytes.length;
      at += run.length;
      // Segments are in memory anyway.
      parts.push(next?.bytes !== undefined || kept.add(bytes.length) ? bytes : { run });
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
    const bytes = Buffer.isBuffer(part)
      ? part
      : ((await encodeWide(list, apiVersion, part.run[0] as CacheEntry)) ?? encode(part.run));
    if (bytes.length >= minBlockBytes) body.pushBlock(bytes);
    else push(bytes);
    if (body.shouldPause) await body.checkpoint();
  }
  push(protobufEnvelopeTail);
  body.end();
}

/** An item of many bytes with its head, encoded in time slices; undefined for others. */
async function encodeWide(list: ListResponse, apiVersion: string, entry: CacheEntry): Promise<Buffer | undefined> {
  const { context, definition, negotiated, reader } = list;
  if (entry.value.length < wideItemBytes) return undefined;
  await reader.load(entry, context);
  const read = await whileTimeLasts(reader.objectIncrementally(definition, entry), context);
  const object = read as KubeObject;
  const steps =
    negotiated.transform === undefined
      ? encodeProtobufMessageIncrementally(apiVersion, definition.kind, asJson(object), entry.value.length)
      : partialMessageIncrementally(object);
  const writer = new WireWriter(entry.value.length + 32);
  writer.bytes(await whileTimeLasts(steps, context));
  writer.delimit(itemsField, 0);
  return writer.finish();
}

/** How many items a run from here has. */
function runLength(entries: readonly CacheEntry[], from: number): number {
  let bytes = 0;
  let at = from;
  for (; at < entries.length && at - from < itemsPerRun; at++) {
    bytes += (entries[at] as CacheEntry).value.length;
    if (at > from && isLarge(bytes)) break;
  }
  return at - from;
}

/** Items with their heads, written from the last one to the first. */
function encodeRun(list: ListResponse, apiVersion: string, run: readonly CacheEntry[]): Buffer {
  const { definition, negotiated } = list;
  const writer = new WireWriter(run.reduce((sum, { value }) => sum + value.length + 32, 0));
  for (let index = run.length - 1; index >= 0; index--) {
    const entry = run[index] as CacheEntry;
    const before = writer.length;
    const stored = servableText(list, entry);
    const isWritten =
      stored !== undefined &&
      negotiated.transform === undefined &&
      transcodeProtobufMessage(writer, apiVersion, definition.kind, stored, String(entry.revision));
    if (!isWritten) writer.bytes(encodeItem(list, apiVersion, entry, stored));
    writer.delimit(itemsField, before);
  }
  return writer.finish();
}

function encodeItem(
  { definition, negotiated, reader }: ListResponse,
  apiVersion: string,
  entry: CacheEntry,
  stored: Buffer | undefined,
): Buffer {
  const object = stored === undefined ? reader.object(definition, entry) : readOnce(stored, entry);
  return negotiated.transform === undefined
    ? encodeProtobufMessage(apiVersion, definition.kind, object as unknown as JsonObject, entry.value.length)
    : partialMessage(object);
}

const openingBrace = 0x7b;

/** The stored JSON of an entry. Undefined if the entry has to be converted or cannot be read. */
function servableText({ definition, reader }: ListResponse, entry: CacheEntry): Buffer | undefined {
  const stored = reader.servableBytes(definition, entry);
  return stored?.[0] === openingBrace ? stored : undefined;
}

/**
 * The object of an entry for this response alone: of a long list most objects are not requested again, so freezing and caching
 * them would cost more than parsing.
 */
function readOnce(stored: Buffer, entry: CacheEntry): KubeObject {
  const object = parseJson(stored) as unknown as KubeObject;
  object.metadata.resourceVersion = String(entry.revision);
  return object;
}

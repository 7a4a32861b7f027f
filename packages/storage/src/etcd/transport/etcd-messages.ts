import { WireReader, wireBytes, wireVarint, WireWriter } from '@multiplane/apimachinery';
import type { UnaryMethod } from './unary-call.ts';

/*
 * The messages of etcd's KV and Watch services (etcdserverpb, mvccpb), with those fields that the store uses, under their
 * names there. An absent field has the default of its type.
 */

export interface RangeRequest {
  readonly key: Buffer;
  readonly range_end?: Buffer | undefined;
  readonly limit?: number | undefined;
  readonly revision?: number | undefined;
  readonly keys_only?: boolean | undefined;
  readonly count_only?: boolean | undefined;
}

export interface PutRequest {
  readonly key: Buffer;
  readonly value: Buffer;
  /** A 64-bit number. */
  readonly lease?: string | undefined;
  readonly ignore_lease?: boolean | undefined;
}

export type RequestOp =
  | { readonly request_range: RangeRequest }
  | { readonly request_put: PutRequest }
  | { readonly request_delete_range: { readonly key: Buffer } };

/** The key must have this modification revision, or this version; 0: it must not exist. */
export type Compare =
  | { readonly key: Buffer; readonly target: 'Mod'; readonly mod_revision: number }
  | { readonly key: Buffer; readonly target: 'Version'; readonly version: number };

export interface TxnRequest {
  readonly compare?: Compare | undefined;
  readonly success: readonly RequestOp[];
  readonly failure?: readonly RequestOp[] | undefined;
}

export interface KeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly version: number;
}

export interface RangeResponse {
  /** The revision of the store; 0 within a transaction. */
  readonly header: { readonly revision: number };
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export interface TxnResponse {
  readonly header: { readonly revision: number };
  readonly succeeded: boolean;
  /** In the order of the operations. */
  readonly responses: readonly { readonly response_range: RangeResponse | undefined }[];
}

export interface WatchCreateRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly start_revision: number;
}

export interface WatchEvent {
  readonly type: 'Put' | 'Delete';
  readonly kv: KeyValue;
  readonly prev_kv: KeyValue | undefined;
}

export interface WatchResponse {
  readonly header: { readonly revision: number };
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compact_revision: number;
  readonly cancel_reason: string;
  /** The rest of the message follows. */
  readonly fragment: boolean;
  readonly events: readonly WatchEvent[];
}

export const rangeMethod: UnaryMethod<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  encode: (request) => {
    const writer = new WireWriter(256);
    writeRange(writer, request);
    return writer.finish();
  },
  decode: (response) => readRange(response, new WireReader(response)),
};

export const txnMethod: UnaryMethod<TxnRequest, TxnResponse> = {
  path: '/etcdserverpb.KV/Txn',
  encode: ({ compare, success, failure = [] }) => {
    const put = success.find((op) => 'request_put' in op);
    const writer = new WireWriter(512 + (put?.request_put.value.length ?? 0));
    writeOps(writer, 3, failure);
    writeOps(writer, 2, success);
    if (compare !== undefined) {
      const before = writer.length;
      writeCompare(writer, compare);
      writer.delimit(1, before);
    }
    return writer.finish();
  },
  decode: readTxn,
};

export const watchPath = '/etcdserverpb.Watch/Watch';

/** Requests the previous values, and large messages in fragments. */
export function encodeWatchCreate({ key, range_end, start_revision }: WatchCreateRequest): Buffer {
  const writer = new WireWriter(256);
  writeNumber(writer, 8, 1);
  writeNumber(writer, 6, 1);
  writeNumber(writer, 3, start_revision);
  writeBytes(writer, 2, range_end);
  writeBytes(writer, 1, key);
  writer.delimit(1, 0);
  return writer.finish();
}

/** A request for a progress notification. */
export function encodeWatchProgress(): Buffer {
  const writer = new WireWriter(8);
  writer.delimit(3, 0);
  return writer.finish();
}

export function decodeWatch(bytes: Buffer): WatchResponse {
  const reader = new WireReader(bytes);
  let revision = 0;
  let created = false;
  let canceled = false;
  let compact_revision = 0;
  let cancel_reason = '';
  let fragment = false;
  const events: WatchEvent[] = [];
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    const { field } = reader;
    if (field === 1 && wireType === wireBytes) revision = readHeader(reader);
    else if (field === 3 && wireType === wireVarint) created = reader.bool();
    else if (field === 4 && wireType === wireVarint) canceled = reader.bool();
    else if (field === 5 && wireType === wireVarint) compact_revision = Number(reader.int64());
    else if (field === 6 && wireType === wireBytes) cancel_reason = readBytes(bytes, reader).toString();
    else if (field === 7 && wireType === wireVarint) fragment = reader.bool();
    else if (field === 11 && wireType === wireBytes) events.push(readEvent(bytes, reader));
    else reader.skip(wireType);
  }
  return { header: { revision }, created, canceled, compact_revision, cancel_reason, fragment, events };
}

// A WireWriter starts at the end, so fields are written from the last to the first.

function writeOps(writer: WireWriter, field: number, ops: readonly RequestOp[]): void {
  for (const op of ops.toReversed()) {
    const outer = writer.length;
    if ('request_range' in op) {
      writeRange(writer, op.request_range);
      writer.delimit(1, outer);
    } else if ('request_put' in op) {
      writePut(writer, op.request_put);
      writer.delimit(2, outer);
    } else {
      writeBytes(writer, 1, op.request_delete_range.key);
      writer.delimit(3, outer);
    }
    writer.delimit(field, outer);
  }
}

function writeRange(writer: WireWriter, request: RangeRequest): void {
  writeNumber(writer, 9, Number(request.count_only ?? false));
  writeNumber(writer, 8, Number(request.keys_only ?? false));
  writeNumber(writer, 4, request.revision ?? 0);
  writeNumber(writer, 3, request.limit ?? 0);
  if (request.range_end !== undefined) writeBytes(writer, 2, request.range_end);
  writeBytes(writer, 1, request.key);
}

function writePut(writer: WireWriter, { key, value, lease, ignore_lease = false }: PutRequest): void {
  writeNumber(writer, 6, Number(ignore_lease));
  if (lease !== undefined) {
    writer.int(BigInt(lease));
    writer.tag(3, wireVarint);
  }
  writeBytes(writer, 2, value);
  writeBytes(writer, 1, key);
}

/** The result EQUAL is the default. A member of a union is written even if it is 0. */
function writeCompare(writer: WireWriter, compare: Compare): void {
  if (compare.target === 'Version') {
    writer.uint(compare.version);
    writer.tag(4, wireVarint);
  } else {
    writer.uint(compare.mod_revision);
    writer.tag(6, wireVarint);
  }
  writeBytes(writer, 3, compare.key);
  writeNumber(writer, 2, compare.target === 'Version' ? 0 : 2);
}

function writeNumber(writer: WireWriter, field: number, value: number): void {
  if (value === 0) return;
  writer.uint(value);
  writer.tag(field, wireVarint);
}

function writeBytes(writer: WireWriter, field: number, value: Buffer): void {
  const before = writer.length;
  writer.bytes(value);
  writer.delimit(field, before);
}

// Readers of nested messages start at the length and end behind the message.

function readTxn(bytes: Buffer): TxnResponse {
  const reader = new WireReader(bytes);
  let revision = 0;
  let succeeded = false;
  const responses: { response_range: RangeResponse | undefined }[] = [];
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    const { field } = reader;
    if (field === 1 && wireType === wireBytes) revision = readHeader(reader);
    else if (field === 2 && wireType === wireVarint) succeeded = reader.bool();
    else if (field === 3 && wireType === wireBytes) responses.push(readOp(bytes, reader));
    else reader.skip(wireType);
  }
  return { header: { revision }, succeeded, responses };
}

function readOp(bytes: Buffer, reader: WireReader): { response_range: RangeResponse | undefined } {
  const outer = enter(reader);
  let response_range: RangeResponse | undefined;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    if (reader.field === 1 && wireType === wireBytes) {
      const limit = enter(reader);
      response_range = readRange(bytes, reader);
      reader.limit = limit;
    } else reader.skip(wireType);
  }
  reader.limit = outer;
  return { response_range };
}

/** Reads up to the limit. */
function readRange(bytes: Buffer, reader: WireReader): RangeResponse {
  let revision = 0;
  let more = false;
  let count = 0;
  const kvs: KeyValue[] = [];
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    const { field } = reader;
    if (field === 1 && wireType === wireBytes) revision = readHeader(reader);
    else if (field === 2 && wireType === wireBytes) kvs.push(readKeyValue(bytes, reader));
    else if (field === 3 && wireType === wireVarint) more = reader.bool();
    else if (field === 4 && wireType === wireVarint) count = Number(reader.int64());
    else reader.skip(wireType);
  }
  return { header: { revision }, kvs, more, count };
}

function readEvent(bytes: Buffer, reader: WireReader): WatchEvent {
  const outer = enter(reader);
  let type: WatchEvent['type'] = 'Put';
  let kv: KeyValue | undefined;
  let prev_kv: KeyValue | undefined;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    const { field } = reader;
    if (field === 1 && wireType === wireVarint) type = reader.int32() === 1 ? 'Delete' : 'Put';
    else if (field === 2 && wireType === wireBytes) kv = readKeyValue(bytes, reader);
    else if (field === 3 && wireType === wireBytes) prev_kv = readKeyValue(bytes, reader);
    else reader.skip(wireType);
  }
  reader.limit = outer;
  if (kv === undefined) throw new TypeError('failed to decode an event of etcd: it has no key');
  return { type, kv, prev_kv };
}

function readHeader(reader: WireReader): number {
  const outer = enter(reader);
  let revision = 0;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    if (reader.field === 3 && wireType === wireVarint) revision = Number(reader.int64());
    else reader.skip(wireType);
  }
  reader.limit = outer;
  return revision;
}

function readKeyValue(bytes: Buffer, reader: WireReader): KeyValue {
  const outer = enter(reader);
  let key = empty;
  let value = empty;
  let create_revision = 0;
  let mod_revision = 0;
  let version = 0;
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    const { field } = reader;
    if (field === 1 && wireType === wireBytes) key = readBytes(bytes, reader);
    else if (field === 2 && wireType === wireVarint) create_revision = Number(reader.int64());
    else if (field === 3 && wireType === wireVarint) mod_revision = Number(reader.int64());
    else if (field === 4 && wireType === wireVarint) version = Number(reader.int64());
    else if (field === 5 && wireType === wireBytes) value = readBytes(bytes, reader);
    else reader.skip(wireType);
  }
  reader.limit = outer;
  return { key, value, create_revision, mod_revision, version };
}

/** Moves the limit to the end of the nested message that starts with its length; returns the limit before. */
function enter(reader: WireReader): number {
  const { limit } = reader;
  reader.limit = reader.end();
  return limit;
}

function readBytes(bytes: Buffer, reader: WireReader): Buffer {
  const end = reader.end();
  const value = bytes.subarray(reader.position, end);
  reader.position = end;
  return value;
}

const empty: Buffer = Buffer.alloc(0);

import { WireReader, wireBytes, wireVarint, WireWriter } from '@multiplane/apimachinery';

/*
 * The messages of etcd's KV and Watch services (etcdserverpb, mvccpb) as far as the store speaks them: ranges, transactions
 * of one comparison, and watches. Fields have their names there; what is absent has the default of its type.
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
export interface DeleteRangeRequest {
  readonly key: Buffer;
}
export type RequestOp =
  | { readonly request_range: RangeRequest }
  | { readonly request_put: PutRequest }
  | { readonly request_delete_range: DeleteRangeRequest };

/** The key has just this modification revision, or this version; 0 where there is none. */
export interface Compare {
  readonly key: Buffer;
  readonly target: 'mod_revision' | 'version';
  readonly equals: number;
}
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
  /** Of the store; 0 in an answer within a transaction. */
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}
export interface TxnResponse {
  readonly revision: number;
  readonly succeeded: boolean;
  /** Of each operation, in order; undefined for those that are no ranges. */
  readonly ranges: readonly (RangeResponse | undefined)[];
}

export interface WatchCreateRequest {
  readonly key: Buffer;
  readonly range_end: Buffer;
  readonly start_revision: number;
}
export interface WatchEvent {
  readonly type: 'put' | 'delete';
  readonly kv: KeyValue;
  readonly prev_kv: KeyValue | undefined;
}
export interface WatchResponse {
  readonly revision: number;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compact_revision: number;
  readonly cancel_reason: string;
  /** There is more of this message. */
  readonly fragment: boolean;
  readonly events: readonly WatchEvent[];
}

/** A call of the service: its path, and how its messages are written. */
export interface Method<Q, A> {
  readonly path: string;
  readonly encode: (request: Q) => Buffer;
  readonly decode: (answer: Buffer) => A;
}

export const rangeMethod: Method<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  encode: (request) => {
    const writer = new WireWriter(256);
    writeRange(writer, request);
    return writer.finish();
  },
  decode: (answer) => readRange(answer, new WireReader(answer)),
};

export const txnMethod: Method<TxnRequest, TxnResponse> = {
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

/** Asks for the values before each change, and for large messages in fragments. */
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

/** Asks for a sign of life. */
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
  readFields(reader, (field, wireType) => {
    if (field === 1 && wireType === wireBytes) revision = nested(reader, () => readHeader(reader));
    else if (field === 3 && wireType === wireVarint) created = reader.bool();
    else if (field === 4 && wireType === wireVarint) canceled = reader.bool();
    else if (field === 5 && wireType === wireVarint) compact_revision = Number(reader.int64());
    else if (field === 6 && wireType === wireBytes) cancel_reason = readBytes(bytes, reader).toString();
    else if (field === 7 && wireType === wireVarint) fragment = reader.bool();
    else if (field === 11 && wireType === wireBytes) events.push(nested(reader, () => readEvent(bytes, reader)));
    else return false;
    return true;
  });
  return { revision, created, canceled, compact_revision, cancel_reason, fragment, events };
}

function readEvent(bytes: Buffer, reader: WireReader): WatchEvent {
  let type: WatchEvent['type'] = 'put';
  let kv: KeyValue | undefined;
  let prev_kv: KeyValue | undefined;
  readFields(reader, (field, wireType) => {
    if (field === 1 && wireType === wireVarint) type = reader.int32() === 1 ? 'delete' : 'put';
    else if (field === 2 && wireType === wireBytes) kv = nested(reader, () => readKeyValue(bytes, reader));
    else if (field === 3 && wireType === wireBytes) prev_kv = nested(reader, () => readKeyValue(bytes, reader));
    else return false;
    return true;
  });
  if (kv === undefined) throw new TypeError('etcd has told of no key');
  return { type, kv, prev_kv };
}

// A writer begins at the end: fields are written from the last to the first.

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

function writeCompare(writer: WireWriter, { key, target, equals }: Compare): void {
  // One of a union is written even where it is 0; EQUAL is 0 and needs no words.
  const isVersion = target === 'version';
  writer.uint(equals);
  writer.tag(isVersion ? 4 : 6, wireVarint);
  writeBytes(writer, 3, key);
  writeNumber(writer, 2, isVersion ? 0 : 2);
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

/** Hands each field up to the reader's limit to `take`, which reads it or returns false. */
function readFields(reader: WireReader, take: (field: number, wireType: number) => boolean): void {
  while (reader.position < reader.limit) {
    const wireType = reader.tag();
    if (!take(reader.field, wireType)) reader.skip(wireType);
  }
}

/** Reads a message within the message. */
function nested<T>(reader: WireReader, read: () => T): T {
  const { limit } = reader;
  const end = reader.end();
  reader.limit = end;
  const result = read();
  reader.position = end;
  reader.limit = limit;
  return result;
}

function readTxn(bytes: Buffer): TxnResponse {
  const reader = new WireReader(bytes);
  let revision = 0;
  let succeeded = false;
  const ranges: (RangeResponse | undefined)[] = [];
  readFields(reader, (field, wireType) => {
    if (field === 1 && wireType === wireBytes) revision = nested(reader, () => readHeader(reader));
    else if (field === 2 && wireType === wireVarint) succeeded = reader.bool();
    else if (field === 3 && wireType === wireBytes) ranges.push(nested(reader, () => readOp(bytes, reader)));
    else return false;
    return true;
  });
  return { revision, succeeded, ranges };
}

function readOp(bytes: Buffer, reader: WireReader): RangeResponse | undefined {
  let range: RangeResponse | undefined;
  readFields(reader, (field, wireType) => {
    if (field !== 1 || wireType !== wireBytes) return false;
    range = nested(reader, () => readRange(bytes, reader));
    return true;
  });
  return range;
}

function readRange(bytes: Buffer, reader: WireReader): RangeResponse {
  let revision = 0;
  let more = false;
  let count = 0;
  const kvs: KeyValue[] = [];
  readFields(reader, (field, wireType) => {
    if (field === 1 && wireType === wireBytes) revision = nested(reader, () => readHeader(reader));
    else if (field === 2 && wireType === wireBytes) kvs.push(nested(reader, () => readKeyValue(bytes, reader)));
    else if (field === 3 && wireType === wireVarint) more = reader.bool();
    else if (field === 4 && wireType === wireVarint) count = Number(reader.int64());
    else return false;
    return true;
  });
  return { revision, kvs, more, count };
}

function readHeader(reader: WireReader): number {
  let revision = 0;
  readFields(reader, (field, wireType) => {
    if (field !== 3 || wireType !== wireVarint) return false;
    revision = Number(reader.int64());
    return true;
  });
  return revision;
}

function readKeyValue(bytes: Buffer, reader: WireReader): KeyValue {
  let key = empty;
  let value = empty;
  let create_revision = 0;
  let mod_revision = 0;
  let version = 0;
  readFields(reader, (field, wireType) => {
    if (field === 1 && wireType === wireBytes) key = readBytes(bytes, reader);
    else if (field === 2 && wireType === wireVarint) create_revision = Number(reader.int64());
    else if (field === 3 && wireType === wireVarint) mod_revision = Number(reader.int64());
    else if (field === 4 && wireType === wireVarint) version = Number(reader.int64());
    else if (field === 5 && wireType === wireBytes) value = readBytes(bytes, reader);
    else return false;
    return true;
  });
  return { key, value, create_revision, mod_revision, version };
}

function readBytes(bytes: Buffer, reader: WireReader): Buffer {
  const end = reader.end();
  const value = bytes.subarray(reader.position, end);
  reader.position = end;
  return value;
}

const empty: Buffer = Buffer.alloc(0);

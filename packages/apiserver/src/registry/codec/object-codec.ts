import {
  type JsonObject,
  type KubeObject,
  type ObjectMeta,
  asJson,
  encodeJson,
  encodeJsonInSteps,
  encodeMembersInSteps,
  setOwn,
} from '@multiplane/apimachinery';
import { ValueTooLargeError } from '@multiplane/storage';

/*
 * How an object lies in storage:
 *
 *   {"kind":"K","apiVersion":"g/v","metadata":{"name":"n","namespace":"ns","uid":"u","creationTimestamp":"…",…},…}
 *                                  ^ item start                                    ^ place of resourceVersion
 *
 * The revision is not among the bytes: only the store knows it, and only after the write. It is spliced in on the way
 * out. Three invariants make that possible without parsing:
 *  - kind and apiVersion come first, then metadata, in this order;
 *  - in metadata nothing but strings comes before the uid, and a uid is always there;
 *  - something always follows the uid (creationTimestamp is always set), so the spliced text may end with a comma.
 */

/** What etcd takes in one request (K1.7). */
export const maxStoredBytes = 1.5 * 1024 * 1024;

const uidMark = Buffer.from('"uid":"');
const apiVersionMark = Buffer.from('"apiVersion":"');
const quoteCode = 0x22;
const dash = 0x2d;
const uuidLength = 36;

/**
 * The object as it is stored: complete, but without `metadata.resourceVersion`. Throws the store's ValueTooLarge beyond
 * `maxBytes`: the limit is the same whatever the backend could take.
 */
export function encodeForStorage(object: KubeObject, maxBytes = maxStoredBytes): Buffer {
  const { metadata } = object;
  checkIdentity(metadata);
  const bytes = Buffer.from(encodeText(object, undefined));
  if (bytes.length > maxBytes) throw new ValueTooLargeError(metadata.name ?? '');
  return bytes;
}

function checkIdentity(metadata: ObjectMeta): void {
  if (metadata.uid === undefined || metadata.creationTimestamp === undefined) {
    throw new TypeError('an object needs its uid and creationTimestamp before it is encoded');
  }
}

/**
 * The same, but what is too large only for its managedFields goes without them (K4.1), in place: who owns what is worth
 * less than the write.
 */
export function encodeWithoutExcess(object: KubeObject, maxBytes = maxStoredBytes): Buffer {
  try {
    return encodeForStorage(object, maxBytes);
  } catch (error) {
    if (!(error instanceof ValueTooLargeError) || object.metadata.managedFields === undefined) throw error;
    delete object.metadata.managedFields;
    return encodeForStorage(object, maxBytes);
  }
}

/**
 * {@link encodeForStorage} (`keepsManagement`) or {@link encodeWithoutExcess} of something big: encodes every part once,
 * with pauses between them.
 */
export function* encodeInSteps(
  object: KubeObject,
  keepsManagement: boolean,
  maxBytes = maxStoredBytes,
): Generator<void, Buffer> {
  checkIdentity(object.metadata);
  const { managedFields, ...metadata } = object.metadata;
  for (const map of ['labels', 'annotations'] as const) {
    const ordered = sorted(metadata[map]);
    if (ordered !== undefined) metadata[map] = ordered;
    yield;
  }
  const head = `${encodeHead(object)},"metadata":${encodeMetadata(metadata, undefined).slice(0, -1)}`;
  yield;
  const json = asJson(object);
  const members = yield* encodeMembersInSteps(
    json,
    Object.keys(json).filter((key) => !isHead(key)),
  );
  const rest = members === '' ? '}' : `},${members}`;
  const management =
    managedFields === undefined || managedFields.length === 0
      ? ''
      : `,"managedFields":${yield* encodeJsonInSteps(managedFields)}`;
  yield;
  let bytes = Buffer.from(`${head}${management}${rest}}`);
  if (bytes.length > maxBytes && management !== '' && !keepsManagement) {
    delete object.metadata.managedFields;
    bytes = Buffer.from(`${head}${rest}}`);
  }
  if (bytes.length > maxBytes) throw new ValueTooLargeError(metadata.name ?? '');
  return bytes;
}

/** The object as a client receives it; {@link encodeForStorage} and the revision, or what never was stored (dry run, reviews). */
export function encodeForWire(object: KubeObject): Buffer {
  return Buffer.from(encodeText(object, object.metadata?.resourceVersion));
}

function encodeText(object: KubeObject, resourceVersion: string | undefined): string {
  let text = encodeHead(object);
  if (object.metadata !== undefined) text += `,"metadata":${encodeMetadata(object.metadata, resourceVersion)}`;
  const json = asJson(object);
  for (const key of Object.keys(json)) text += encodeMember(json, key);
  return `${text}}`;
}

const encodeHead = ({ kind, apiVersion }: KubeObject): string =>
  `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;

const isHead = (key: string): boolean => key === 'kind' || key === 'apiVersion' || key === 'metadata';

/** A member after the head and the metadata, which are none here. */
function encodeMember(json: JsonObject, key: string): string {
  if (isHead(key)) return '';
  const value = json[key];
  return value === undefined ? '' : `,${JSON.stringify(key)}:${encodeJson(value)}`;
}

/** Metadata in its order on the wire. Values that are absent or empty are left out. */
export function encodeMetadata(metadata: ObjectMeta, resourceVersion: string | undefined): string {
  // One object for the engine to encode: it is asked once for all of them, and leaves out what is undefined.
  return encodeJson({
    name: present(metadata.name),
    generateName: present(metadata.generateName),
    namespace: present(metadata.namespace),
    uid: present(metadata.uid),
    resourceVersion: present(resourceVersion),
    generation: present(metadata.generation),
    creationTimestamp: present(metadata.creationTimestamp),
    deletionTimestamp: present(metadata.deletionTimestamp),
    deletionGracePeriodSeconds: present(metadata.deletionGracePeriodSeconds),
    labels: sorted(metadata.labels),
    annotations: sorted(metadata.annotations),
    ownerReferences: present(metadata.ownerReferences),
    finalizers: present(metadata.finalizers),
    managedFields: present(metadata.managedFields),
  });
}

/** A value, unless it is as good as none. */
function present<T>(value: T | null | undefined): T | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'object' && Object.keys(value).length === 0 ? undefined : value;
}

/** A map with its members in order; undefined for none and an empty one. */
function sorted(value: Record<string, string> | null | undefined): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  const keys = Object.keys(value);
  if (keys.length === 0) return undefined;
  for (let index = 1; index < keys.length; index++) {
    if ((keys[index - 1] as string) > (keys[index] as string)) {
      const copy: Record<string, string> = {};
      for (const key of keys.toSorted()) setOwn(copy, key, value[key] as string);
      return copy;
    }
  }
  return value;
}

/** Where `"resourceVersion":"…",` goes into stored bytes. */
export function revisionOffset(stored: Buffer): number {
  const mark = stored.indexOf(uidMark);
  const start = mark + uidMark.length;
  const end = mark < 0 ? -1 : isUuid(stored, start) ? start + uuidLength : stored.indexOf(quoteCode, start);
  if (end < 0) throw new TypeError('stored bytes carry no uid');
  return end + 2;
}

/** Uids that were made here are UUIDs: no need to look for their end. */
function isUuid(stored: Buffer, at: number): boolean {
  return (
    stored[at + 8] === dash &&
    stored[at + 13] === dash &&
    stored[at + 18] === dash &&
    stored[at + 23] === dash &&
    stored[at + uuidLength] === quoteCode
  );
}

/** Where the members after kind and apiVersion begin (`"metadata":…`): items of typed lists start here. */
export function itemOffset(stored: Buffer): number {
  const mark = stored.indexOf(apiVersionMark);
  const end = mark < 0 ? -1 : stored.indexOf(quoteCode, mark + apiVersionMark.length);
  if (end < 0) throw new TypeError('stored bytes carry no apiVersion');
  return end + 2;
}

const kindMark = Buffer.from('"kind":"');

/** kind, apiVersion and uid, read off the bytes. */
export function identityOf(stored: Buffer): {
  readonly kind: string;
  readonly apiVersion: string;
  readonly uid: string;
} {
  return {
    kind: textAfter(stored, kindMark),
    apiVersion: textAfter(stored, apiVersionMark),
    uid: textAfter(stored, uidMark),
  };
}

/** None of these texts needs an escape in JSON. */
function textAfter(stored: Buffer, mark: Buffer): string {
  const start = stored.indexOf(mark) + mark.length;
  return stored.toString('latin1', start, stored.indexOf(quoteCode, start));
}

/** The text that is spliced in at {@link revisionOffset}. */
export function revisionText(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

/** Head, revision and tail in one buffer. */
export function withRevision(stored: Buffer, revision: number): Buffer {
  return spliced(stored, revision, '', '');
}

/** The same with something around it (`{"type":"ADDED","object":` … `}\n`), still in one allocation. */
export function spliced(stored: Buffer, revision: number, before: string, after: string): Buffer {
  const offset = revisionOffset(stored);
  const text = revisionText(revision);
  const result = Buffer.allocUnsafe(before.length + stored.length + text.length + after.length);
  let at = result.write(before, 0, 'latin1');
  at += stored.copy(result, at, 0, offset);
  at += result.write(text, at, 'latin1');
  at += stored.copy(result, at, offset);
  result.write(after, at, 'latin1');
  return result;
}

export interface ChunkSink {
  /** Takes the bytes of a buffer. */
  push(bytes: Buffer, start: number, end: number): void;
  /** Takes an ASCII text. */
  pushText(text: string): void;
  /** Takes one byte. */
  pushByte(byte: number): void;
}

/** The most that {@link pushListItem} and a comma add to the stored bytes. */
export const addedBytes = 64;

/** A sink of so many bytes at most. */
export class BufferSink implements ChunkSink {
  readonly #buffer: Buffer;
  #length = 0;

  constructor(size: number) {
    // Not of the pool: it may be kept for long.
    this.#buffer = Buffer.allocUnsafeSlow(size);
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  push(bytes: Buffer, start: number, end: number): void {
    this.#length += bytes.copy(this.#buffer, this.#length, start, end);
  }

  pushText(text: string): void {
    this.#length += this.#buffer.write(text, this.#length, 'latin1');
  }

  pushByte(byte: number): void {
    this.#buffer[this.#length++] = byte;
  }
}

const openBrace = 0x7b;
const comma = 0x2c;
const letterM = 0x6d;

/**
 * One element of a list: complete for custom resources, without kind and apiVersion for built-in kinds (K3.5).
 * `usualOffset` is where that begins in most elements, if it is known: objects of a kind differ only after it.
 */
export function pushListItem(
  sink: ChunkSink,
  stored: Buffer,
  revision: number,
  complete: boolean,
  usualOffset = 0,
): void {
  const offset = revisionOffset(stored);
  if (complete) {
    sink.push(stored, 0, offset);
  } else {
    sink.pushByte(openBrace);
    const usual =
      stored[usualOffset - 2] === quoteCode && stored[usualOffset - 1] === comma && stored[usualOffset + 1] === letterM;
    sink.push(stored, usual ? usualOffset : itemOffset(stored), offset);
  }
  sink.pushText(revisionText(revision));
  sink.push(stored, offset, stored.length);
}

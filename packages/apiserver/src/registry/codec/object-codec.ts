import {
  type JsonObject,
  type KubeObject,
  type ObjectMeta,
  asJson,
  encodeJson,
  encodeJsonIncrementally,
  encodeMembersIncrementally,
  hasMoreValues,
  maxJsonValues,
  setOwn,
  statusErrors,
} from '@multiplane/apimachinery';
import { ValueTooLargeError } from '@multiplane/storage';

/** Limit of an encoded object: the default request limit of etcd. */
export const maxStoredBytes = 1.5 * 1024 * 1024;

/**
 * Encodes an object for storage in the layout of stored-layout.ts: complete, but without `metadata.resourceVersion`. Throws
 * ValueTooLarge above `maxBytes`, whichever limit the backend has, and StatusError 413 for more values than a body may have: clients
 * could not write again what they read.
 */
export function encodeForStorage(object: KubeObject, maxBytes = maxStoredBytes): Buffer {
  const { metadata } = object;
  checkIdentity(metadata);
  const bytes = Buffer.from(encodeText(object, undefined));
  const problem = sizeProblem(bytes, object, maxBytes);
  if (problem !== undefined) throw problem;
  return bytes;
}

/** Why an object cannot be stored; undefined if it can. */
function sizeProblem(bytes: Buffer, object: KubeObject, maxBytes: number): Error | undefined {
  if (bytes.length > maxBytes) return new ValueTooLargeError(object.metadata.name ?? '');
  // Few objects are long enough for so many values.
  const hasTooMany = bytes.length > minBytesPerValue * maxJsonValues && hasMoreValues(asJson(object), maxJsonValues);
  return hasTooMany ? statusErrors.tooLarge(`the object would have more than ${maxJsonValues} values`) : undefined;
}

/** With its separator. */
const minBytesPerValue = 2;

function checkIdentity(metadata: ObjectMeta): void {
  if (metadata.uid === undefined || metadata.creationTimestamp === undefined) {
    throw new TypeError('an object needs its uid and creationTimestamp before it is encoded');
  }
}

/** Encodes an object for a client: with resourceVersion if it has one, and without the requirements of stored objects. */
export function encodeForWire(object: KubeObject): Buffer {
  return Buffer.from(encodeText(object, object.metadata?.resourceVersion));
}

/** {@link encodeForWire} in passes; returns the text. */
export function* encodeForWireIncrementally(object: KubeObject): Generator<void, string> {
  const { metadata } = object;
  let head = encodeHead(object);
  if (metadata !== undefined)
    head += `,"metadata":${yield* encodeMetadataIncrementally(metadata, metadata.resourceVersion)}`;
  yield;
  const json = asJson(object);
  const members = yield* encodeMembersIncrementally(
    json,
    Object.keys(json).filter((key) => !isHead(key)),
  );
  return members === '' ? `${head}}` : `${head},${members}}`;
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

/** A member after kind, apiVersion and metadata, for which it returns an empty text. */
function encodeMember(json: JsonObject, key: string): string {
  if (isHead(key)) return '';
  const value = json[key];
  return value === undefined ? '' : `,${JSON.stringify(key)}:${encodeJson(value)}`;
}

/** Encodes metadata in the order of its members on the wire. Absent and empty values are omitted. */
export function encodeMetadata(metadata: ObjectMeta, resourceVersion: string | undefined): string {
  // One object for the engine to encode: it is asked once for all of them, and leaves out what is undefined.
  return encodeJson({
    name: present(metadata.name),
    generateName: present(metadata.generateName),
    namespace: present(metadata.namespace),
    selfLink: present(metadata.selfLink),
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

/** {@link encodeMetadata} in passes. */
export function* encodeMetadataIncrementally(
  metadata: ObjectMeta,
  resourceVersion: string | undefined,
): Generator<void, string> {
  const { labels, annotations, ownerReferences, finalizers, managedFields, ...rest } = metadata;
  let text = encodeMetadata(rest, resourceVersion).slice(0, -1);
  // The order of encodeMetadata.
  const parts = {
    labels: yield* sortedIncrementally(labels),
    annotations: yield* sortedIncrementally(annotations),
    ownerReferences: present(ownerReferences),
    finalizers: present(finalizers),
    managedFields: present(managedFields),
  };
  for (const [key, value] of Object.entries(parts)) {
    yield;
    if (value === undefined) continue;
    text += `${text === '{' ? '' : ','}"${key}":${yield* encodeJsonIncrementally(value)}`;
  }
  return `${text}}`;
}

/** The value, or undefined if it is empty. */
function present<T>(value: T | null | undefined): T | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'object') return value;
  return (Array.isArray(value) ? value.length : Object.keys(value).length) === 0 ? undefined : value;
}

/** Members that {@link sortedIncrementally} copies in one pass. */
const membersPerPass = 2_048;

type Texts = Record<string, string>;

/** A map sorted by key; undefined for an absent or empty one. */
function sorted(value: Texts | null | undefined): Texts | undefined {
  if (value === undefined || value === null) return undefined;
  const keys = Object.keys(value);
  if (keys.length === 0) return undefined;
  if (isSorted(keys)) return value;
  const copy: Texts = {};
  for (const key of keys.toSorted()) setOwn(copy, key, value[key] as string);
  return copy;
}

/** {@link sorted} in passes. */
function* sortedIncrementally(value: Texts | null | undefined): Generator<void, Texts | undefined> {
  if (value === undefined || value === null) return undefined;
  const keys = Object.keys(value);
  if (keys.length === 0) return undefined;
  yield;
  if (isSorted(keys)) return value;
  const copy: Texts = {};
  for (const [index, key] of keys.toSorted().entries()) {
    setOwn(copy, key, value[key] as string);
    if (index % membersPerPass === membersPerPass - 1) yield;
  }
  return copy;
}

function isSorted(keys: readonly string[]): boolean {
  for (let index = 1; index < keys.length; index++)
    if ((keys[index - 1] as string) > (keys[index] as string)) return false;
  return true;
}

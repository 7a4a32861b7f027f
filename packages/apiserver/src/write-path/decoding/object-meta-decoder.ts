import {
  type Json,
  type JsonObject,
  type ObjectMeta,
  type OwnerReference,
  goTimeError,
  isJsonObject,
  setOwn,
} from '@multiplane/apimachinery';

/** A member of a body has the wrong JSON type. The message is that of Go's decoder, without the name of the object. */
export class UnmarshalError extends Error {
  override readonly name = 'UnmarshalError';
}

const stringFields = ['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion'] as const;
const integerFields = ['generation', 'deletionGracePeriodSeconds'] as const;
const timeFields = ['creationTimestamp', 'deletionTimestamp'] as const;
const mapFields = ['labels', 'annotations'] as const;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Decodes ObjectMeta into its canonical form: no empty members, no nulls, no unknown fields, times in whole seconds. Maps and
 * managedFields entries are shared with `raw`. Throws {@link UnmarshalError}.
 */
export function decodeObjectMeta(raw: Json | undefined): ObjectMeta {
  if (raw === undefined || raw === null) return {};
  if (!isJsonObject(raw)) throw mismatch(raw, 'metadata', 'ObjectMeta');
  const result: Record<string, unknown> = {};
  for (const field of stringFields) {
    const value = raw[field];
    if (value === undefined || value === null || value === '') continue;
    if (typeof value !== 'string') throw mismatch(value, `metadata.${field}`, 'string');
    result[field] = value;
  }
  for (const field of integerFields) {
    const value = raw[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value)))
      throw mismatch(value, `metadata.${field}`, 'int64');
    // Generation 0 equals an absent one; a grace period of 0 does not.
    if (field !== 'generation' || Number(value) !== 0) result[field] = value;
  }
  for (const field of timeFields) {
    const value = raw[field];
    if (value === undefined || value === null || value === '') continue;
    if (typeof value !== 'string') throw mismatch(value, `metadata.${field}`, 'string');
    result[field] = wholeSeconds(value);
  }
  for (const field of mapFields) {
    const value = raw[field];
    if (value !== undefined && value !== null && fillTexts(value, `metadata.${field}`)) result[field] = value;
  }
  const owners = listOf(raw['ownerReferences'], 'metadata.ownerReferences', ownerReference);
  if (owners !== undefined) result['ownerReferences'] = owners;
  const finalizers = listOf(raw['finalizers'], 'metadata.finalizers', text);
  if (finalizers !== undefined) result['finalizers'] = finalizers;
  const managed = raw['managedFields'];
  if (managed !== undefined && managed !== null) {
    result['managedFields'] = listOf(managed, 'metadata.managedFields', (item, path) => {
      if (!isJsonObject(item)) throw mismatch(item, path, 'v1.ManagedFieldsEntry');
      return item;
    });
  }
  return result;
}

/** Replaces nulls in a map of strings by empty strings, in place; false for an empty map. */
function fillTexts(value: Json, path: string): boolean {
  if (!isJsonObject(value)) throw mismatch(value, path, 'map[string]string');
  const keys = Object.keys(value);
  for (const key of keys) {
    const member = value[key] as Json;
    if (typeof member !== 'string') setOwn(value, key, text(member, path));
  }
  return keys.length > 0;
}

function text(value: Json, path: string): string {
  if (value === null) return '';
  if (typeof value !== 'string') throw mismatch(value, path, 'string');
  return value;
}

function listOf<T>(value: Json | undefined, path: string, item: (value: Json, path: string) => T): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw mismatch(value, path, '[]');
  return value.length === 0 ? undefined : value.map((element) => item(element, path));
}

function ownerReference(value: Json, path: string): OwnerReference {
  if (!isJsonObject(value)) throw mismatch(value, path, 'v1.OwnerReference');
  const result: JsonObject = {};
  for (const field of ['apiVersion', 'kind', 'name', 'uid'])
    result[field] = text(value[field] ?? null, `${path}.${field}`);
  for (const field of ['controller', 'blockOwnerDeletion']) {
    const flag = value[field];
    if (flag === undefined || flag === null) continue;
    if (typeof flag !== 'boolean') throw mismatch(flag, `${path}.${field}`, 'bool');
    result[field] = flag;
  }
  return result as OwnerReference;
}

function wholeSeconds(value: string): string {
  const time = rfc3339.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new UnmarshalError(goTimeError(value));
  }
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}

function mismatch(value: Json, path: string, type: string): UnmarshalError {
  return new UnmarshalError(
    `json: cannot unmarshal ${jsonType(value)} into Go struct field ObjectMeta.${path} of type ${type}`,
  );
}

/** The name of a JSON type in messages of Go's decoder. */
export function jsonType(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'object':
      return 'object';
    default:
      return `number ${String(value)}`;
  }
}

import { runToCompletion } from '../async/run-to-completion.ts';
import { getOwn, type DeepReadonly, type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { canonicalTime } from '../values/time.ts';
import { FieldSet } from './field-set.ts';
import { decodeFieldsV1, decodeFieldsV1Incrementally, encodeFieldsV1 } from './fields-v1.ts';
import { RecentWeakMap } from './recent-weak-map.ts';

export type ManagerOperation = 'Apply' | 'Update';

/** The key of an entry of managedFields; for appliers without the version. */
export interface ManagerIdentity {
  readonly manager: string;
  readonly operation: ManagerOperation;
  readonly apiVersion: string;
  readonly subresource: string;
}

/** What one manager owns, in terms of one version of the object. */
export interface ManagedSet {
  readonly set: FieldSet;
  readonly apiVersion: string;
  readonly applied: boolean;
}

/** Managers by {@link managerKey}. */
export type Managers = ReadonlyMap<string, ManagedSet>;

/** `metadata.managedFields`, decoded. */
export interface Managed {
  readonly managers: Managers;
  /** RFC 3339; a manager whose entry carries no time has none here. */
  readonly times: ReadonlyMap<string, string>;
}

export const emptyManaged: Managed = { managers: new Map(), times: new Map() };

/** Update entries beyond this many are merged, oldest first. */
export const maxUpdateManagers = 10;
const mergedUpdatesManager = 'ancient-changes';

/** The key of a manager; it is JSON, and its order is that in which conflicts are listed. */
export function managerKey(identity: ManagerIdentity): string {
  const { manager, operation, apiVersion, subresource } = identity;
  let text = `{"manager":${JSON.stringify(manager)},"operation":"${operation}"`;
  if (operation === 'Update') text += `,"apiVersion":${JSON.stringify(apiVersion)}`;
  if (subresource !== '') text += `,"subresource":${JSON.stringify(subresource)}`;
  return `${text}}`;
}

/** What {@link managerKey} was made of; appliers carry no version. */
export function managerIdentity(key: string): ManagerIdentity {
  let identity = identities.get(key);
  if (identity === undefined) {
    const { manager, operation, apiVersion, subresource } = JSON.parse(key) as Partial<ManagerIdentity>;
    identity = {
      manager: manager ?? '',
      operation: operation ?? 'Update',
      apiVersion: apiVersion ?? '',
      subresource: subresource ?? '',
    };
    if (identities.size >= maxIdentities) identities.clear();
    identities.set(key, identity);
  }
  return identity;
}

/** Few programs write most objects. Names are bounded in length, so the number bounds the memory. */
const maxIdentities = 1000;
const identities = new Map<string, ManagerIdentity>();

/** A writer that updates an object again mostly does so soon. */
const decoded = new RecentWeakMap<readonly DeepReadonly<Json>[], Managed>(2048);

/** Reads managedFields. Throws an Error for entries that are not valid. The entries must not change afterwards. */
export function decodeManagedFields(entries: readonly DeepReadonly<Json>[] | undefined): Managed {
  if (entries === undefined || entries.length === 0) return emptyManaged;
  let managed = decoded.get(entries);
  if (managed === undefined) {
    managed = runToCompletion(decodeEntries(entries as readonly Json[]));
    decoded.set(entries, managed);
  }
  return managed;
}

/** {@link decodeManagedFields} in passes. */
export function* decodeManagedFieldsIncrementally(
  entries: readonly DeepReadonly<Json>[] | undefined,
): Generator<void, Managed> {
  if (entries === undefined || entries.length === 0) return emptyManaged;
  if (decoded.get(entries) === undefined) {
    for (const [index, entry] of (entries as readonly Json[]).entries()) {
      if (index % entriesPerPass === entriesPerPass - 1) yield;
      const fields = isJsonObject(entry) ? getOwn(entry, 'fieldsV1') : undefined;
      // The sets of fields stay known.
      if (isJsonObject(fields)) yield* decodeFieldsV1Incrementally(fields);
    }
    decoded.set(entries, yield* decodeEntries(entries as readonly Json[]));
  }
  return decodeManagedFields(entries);
}

/** Entries per pass: a body has room for 15,000. */
const entriesPerPass = 500;

function* decodeEntries(entries: readonly Json[]): Generator<void, Managed> {
  const managers = new Map<string, ManagedSet>();
  const times = new Map<string, string>();
  for (const [index, entry] of entries.entries()) {
    if (index % entriesPerPass === entriesPerPass - 1) yield;
    if (!isJsonObject(entry)) throw new Error(`managed fields entry ${index} must be an object`);
    const operation = text(entry, 'operation');
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Update` or `Apply`');
    const apiVersion = text(entry, 'apiVersion');
    if (apiVersion === '') throw new Error('apiVersion must not be empty');
    const fieldsType = text(entry, 'fieldsType');
    if (fieldsType === '') throw new Error(`missing fieldsType in managed fields entry ${index}`);
    if (fieldsType !== 'FieldsV1')
      throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`);
    const fields = getOwn(entry, 'fieldsV1') ?? null;
    if (fields !== null && !isJsonObject(fields)) throw new Error(`invalid fieldsV1 in managed fields entry ${index}`);
    const identity = {
      manager: text(entry, 'manager'),
      operation,
      apiVersion,
      subresource: text(entry, 'subresource'),
    } as const;
    const key = managerKey(identity);
    managers.set(key, {
      set: fields === null ? FieldSet.empty : decodeFieldsV1(fields),
      apiVersion,
      applied: operation === 'Apply',
    });
    const time = canonicalTime(text(entry, 'time'));
    if (time !== undefined) times.set(key, time);
  }
  return { managers, times };
}

function text(entry: JsonObject, field: string): string {
  const value = getOwn(entry, field);
  return typeof value === 'string' ? value : '';
}

/** A client takes tracking off with an empty list or one empty entry. */
export function isManagedFieldsReset(entries: readonly DeepReadonly<Json>[] | undefined): boolean {
  if (entries === undefined || entries.length > 1) return false;
  const [first] = entries;
  return (
    first === undefined ||
    (isJsonObject(first) && Object.values(first).every((value) => value === null || value === ''))
  );
}

/**
 * Entries in their order: appliers first, then by time, name, version, subresource. The fields of an entry come in the
 * order of its type, or (`byText`, custom resources) sorted.
 */
export const encodeManagedFields = (managed: Managed, byText = false): JsonObject[] =>
  runToCompletion(encodeManagedFieldsIncrementally(managed, byText));

/** {@link encodeManagedFields} in passes over the entries. */
export function* encodeManagedFieldsIncrementally(
  { managers, times }: Managed,
  byText: boolean,
): Generator<void, JsonObject[]> {
  const known = new Map<string, string>();
  const entries: { readonly entry: JsonObject; readonly order: readonly (string | number)[] }[] = [];
  const several = managers.size > 1;
  for (const [key, { set, apiVersion }] of managers) {
    if (entries.length % entriesPerPass === entriesPerPass - 1) yield;
    const { manager, operation, subresource } = managerIdentity(key);
    const time = times.get(key);
    if (time !== undefined) known.set(key, time);
    const fieldsV1 = encodeFieldsV1(set, byText);
    const typed: JsonObject = {
      ...(manager === '' ? {} : { manager }),
      operation,
      apiVersion,
      ...(time === undefined ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1,
      ...(subresource === '' ? {} : { subresource }),
    };
    const entry = byText ? sortedByKey(typed) : typed;
    entries.push({ entry, order: several ? [operation, seconds(time), manager, apiVersion, subresource] : [] });
  }
  if (several) entries.sort((a, b) => compareInTurn(a.order, b.order));
  const result = entries.map(({ entry }) => entry);
  if (result.length > 0) decoded.set(result, { managers, times: known });
  return result;
}

function sortedByKey(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function seconds(time: string | undefined): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

function compareInTurn(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (let index = 0; index < a.length; index++) {
    const left = a[index] as string | number;
    const right = b[index] as string | number;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/**
 * Keeps the number of Update entries bounded: the oldest of one version become one entry. An entry that is the only old
 * one of its version stays what it is.
 */
export function capUpdateManagers(managed: Managed, max = maxUpdateManagers): Managed {
  const updaters: string[] = [];
  for (const [key, { applied }] of managed.managers) if (!applied) updaters.push(key);
  if (updaters.length <= max) return managed;
  updaters.sort((a, b) => compareInTurn([seconds(managed.times.get(a)), a], [seconds(managed.times.get(b)), b]));
  const managers = new Map(managed.managers);
  const times = new Map(managed.times);
  const firstOfVersion = new Map<string, string>();
  let count = updaters.length;
  for (const key of updaters) {
    if (count <= max) break;
    const entry = managers.get(key) as ManagedSet;
    const first = firstOfVersion.get(entry.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(entry.apiVersion, key);
      continue;
    }
    const bucket = managerKey({
      manager: mergedUpdatesManager,
      operation: 'Update',
      apiVersion: entry.apiVersion,
      subresource: '',
    });
    if (!managers.has(bucket)) {
      managers.set(bucket, managers.get(first) as ManagedSet);
      managers.delete(first);
      times.delete(first);
    }
    const merged = managers.get(bucket) as ManagedSet;
    if (key !== bucket) {
      managers.set(bucket, { ...merged, set: entry.set.union(merged.set) });
      managers.delete(key);
      count--;
      const time = times.get(key);
      times.delete(key);
      if (time === undefined) times.delete(bucket);
      else times.set(bucket, time);
    }
  }
  return { managers, times };
}

import { formatTime, quote, type DeepReadonly, type ObjectMeta } from '@multiplane/apimachinery';
import { cancelTransferAnnotation, forceTransferAnnotation, isFieldKey, shownKey } from '@multiplane/apis';
import type { IndexedScope, ScopesByKey } from './scope-index.ts';
import { readRecords, writeRecords, type ScopeRecords } from './scope-records.ts';

/** Metadata of an object, as far as scopes depend on it. */
export type ScopedMetadata = Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers' | 'creationTimestamp'>;

/** The values of protected fields in one update, by key. */
export interface ScopedFields {
  /** Undefined: the object is in no scope of the key. */
  before(key: string): string | undefined;
  /** As the request asks for; what the requester did not change has its old value. */
  after(key: string): string | undefined;
  /** The value comes from a default of the schema, and nobody asked for it. */
  isDefaulted(key: string): boolean;
  /** Replaces what the request asks for. */
  set(key: string, value: string | undefined): void;
}

/** An update of an object of a resource with scopes. */
export interface ScopedUpdate {
  readonly scopes: ScopesByKey;
  /** The scope whose virtual workspace the request came through; undefined: another request. */
  readonly through: IndexedScope | undefined;
  readonly old: DeepReadonly<ScopedMetadata>;
  /** The proposed metadata; changed in place. */
  readonly metadata: ScopedMetadata;
  /** Absent where no scope selects by a field. */
  readonly fields?: ScopedFields | undefined;
  /** An update of a subresource: it changes no label and no finalizer. */
  readonly isSubresource: boolean;
  readonly now: Date;
  readonly mayAssign: (scope: IndexedScope) => Promise<boolean>;
  /** Throws {@link ScopeRuleError} unless the object may be assigned a value that has no scope yet: see `scope-labels.ts`. */
  readonly admitNewValue: (key: string, value: string) => Promise<void>;
}

/** The update breaks a rule of the scopes; admission answers 403 with the message. */
export class ScopeRuleError extends Error {
  override readonly name = 'ScopeRuleError';
}

/**
 * Admits one update of an object whose resource has scopes, and moves objects between scopes.
 *
 * The label or field of a scope decides which provider sees the object, so its value changes by a transfer only. A transfer
 * consists of writes of the object itself. Each write is atomic in the store, and every other write of the object goes through here, too. So
 * there is no state outside of the object: a process that ends at any moment leaves the object before or after a write.
 *
 * State of an object for each key K of its resource's scopes; below, "label" stands for both:
 *
 *   label[K]                  the scope that the object is in; absent: none. K is the key of a label, or the path of a field
 *                             with a leading dot, whose value is the stored one (`ScopedFields`)
 *   finalizers[K]             the finalizers that were added through this scope and are still present
 *   transfer[K]               { from, to, deadline }: a transfer that waits for these finalizers
 *
 * Steps for each K, in one write:
 *
 *  1. finalizers[K] loses those that the write removes. A write through scope K=v adds those that it adds; while a transfer is
 *     pending, it may not add any, else the transfer might never end.
 *  2. The label is absent and the write sets it: assignment. Users with the verb `assign` may, and every user if the scope is of
 *     assignment Consumer and younger than the object. A value without a scope is admitted only where an APIExportScopeSet makes
 *     scopes of the values that occur (`admitNewValue`). The label is set and the write removes it: refused.
 *  3. The label changes from a to b: a transfer is requested. The requester needs `assign` on both scopes, and both must allow
 *     transfers. finalizers[K] is empty: the label changes in this write. Else the label keeps a, and transfer[K] is written.
 *     With the annotation `force-transfer` and after the deadline: finalizers[K] are removed from the object, and the label
 *     changes in this write.
 *  4. The label does not change, transfer[K] is pending and finalizers[K] is empty after step 1: the label changes to `to` in
 *     this write, which is the one that removes the last finalizer. If scope `to` is no longer in force, the transfer ends
 *     without a move.
 *  5. With the annotation `cancel-transfer`, by a user with `assign` on both scopes: transfer[K] ends without a move. It wins
 *     over step 4; a write that also changes the label is refused. Where no transfer is pending it is refused, so that the
 *     caller learns that the object may have moved already.
 *
 * A value that a default of a newer schema gives an old object is an assignment that nobody asked for: without permission the
 * object stays without a value, and the update is admitted. A subresource that changes a field (scale) is refused.
 *
 * While transfer[K] is pending, the annotation `conditions` says so for people; like the others it is written by this code only.
 *
 * Invariants: an object has at most one value of K, hence it is in at most one scope at every revision. The write that ends the
 * old scope's access is the one that begins the new scope's, so watchers see DELETED and ADDED at one revision. A write
 * through scope K=v is admitted only while label[K] = v, which the compare-and-set of the store confirms.
 *
 * Throws {@link ScopeRuleError}.
 */
export async function admitScopedUpdate(update: ScopedUpdate): Promise<void> {
  const { scopes, old, metadata } = update;
  const records = readRecords(old);
  const isForced = takeRequest(forceTransferAnnotation, metadata, old);
  const isCancelled = takeRequest(cancelTransferAnnotation, metadata, old) && !update.isSubresource;
  if (isCancelled) await cancelTransfers(update, records);
  for (const [key, byValue] of scopes) {
    if (update.isSubresource) keepInSubresource(update, key);
    else await admitKey(update, key, byValue, records, isForced);
  }
  // Records of keys that no scope has any more are dropped.
  for (const map of [records.transfers, records.finalizers])
    for (const key of map.keys()) if (!scopes.has(key)) map.delete(key);
  writeRecords(metadata, records);
}

const valueBefore = ({ old, fields }: ScopedUpdate, key: string): string | undefined =>
  isFieldKey(key) ? fields?.before(key) : old.labels?.[key];

const valueAfter = ({ metadata, fields }: ScopedUpdate, key: string): string | undefined =>
  isFieldKey(key) ? fields?.after(key) : metadata.labels?.[key];

function setValue({ metadata, fields }: ScopedUpdate, key: string, value: string | undefined): void {
  if (isFieldKey(key)) {
    fields?.set(key, value);
    return;
  }
  const { [key]: _proposed, ...others } = metadata.labels ?? {};
  metadata.labels = value === undefined ? others : { ...others, [key]: value };
}

function restoreValue(update: ScopedUpdate, key: string): void {
  const before = valueBefore(update, key);
  if (valueAfter(update, key) !== before) setValue(update, key, before);
}

function keepInSubresource(update: ScopedUpdate, key: string): void {
  if (isFieldKey(key) && valueAfter(update, key) !== valueBefore(update, key))
    throw new ScopeRuleError(`${named(key)} is protected by an APIExportScope and cannot be changed by a subresource`);
  restoreValue(update, key);
}

/** Step 5. */
async function cancelTransfers(update: ScopedUpdate, records: ScopeRecords): Promise<void> {
  const { scopes, mayAssign } = update;
  const pending = Array.from(records.transfers).filter(([key]) => scopes.has(key));
  if (pending.length === 0) throw new ScopeRuleError('the object has no pending transfer that could be cancelled');
  for (const [key, { from, to }] of pending) {
    if (valueAfter(update, key) !== valueBefore(update, key))
      throw new ScopeRuleError(`${named(key)} cannot be changed by the write that cancels its transfer`);
    await requireAssign(key, scopesOfValues(scopes.get(key), [from, to]), mayAssign);
    records.transfers.delete(key);
  }
}

const scopesOfValues = (
  byValue: ReadonlyMap<string, IndexedScope> | undefined,
  values: readonly string[],
): IndexedScope[] => values.flatMap((value) => byValue?.get(value) ?? []);

async function admitKey(
  update: ScopedUpdate,
  key: string,
  byValue: ReadonlyMap<string, IndexedScope>,
  records: ScopeRecords,
  isForced: boolean,
): Promise<void> {
  const { through } = update;
  const before = valueBefore(update, key);
  const after = valueAfter(update, key);
  recordFinalizers(update, key, records);
  if (before !== after && through?.key === key)
    throw new ScopeRuleError(`${named(key)} cannot be changed through APIExportScope ${quote(through.name)}`);
  if (before === undefined) {
    if (after !== undefined) await admitFirstValue(update, key, after, byValue);
    return;
  }
  const pending = records.transfers.get(key);
  if (after === undefined)
    throw new ScopeRuleError(`${named(key)} is protected by an APIExportScope and cannot be removed`);
  if (before !== after) return requestTransfer(update, key, before, after, byValue, records, isForced);
  if (pending === undefined || records.finalizers.has(key)) return;
  records.transfers.delete(key);
  if (byValue.has(pending.to)) setValue(update, key, pending.to);
}

/** Step 1. */
function recordFinalizers({ old, metadata, through }: ScopedUpdate, key: string, records: ScopeRecords): void {
  const present = new Set(metadata.finalizers);
  const owned = (records.finalizers.get(key) ?? []).filter((name) => present.has(name));
  if (through?.key === key) {
    const added = [...present.difference(new Set(old.finalizers))];
    if (added.length > 0 && records.transfers.has(key))
      throw new ScopeRuleError(
        `finalizers cannot be added while the object waits for its transfer to ${quote(records.transfers.get(key)?.to ?? '')}`,
      );
    owned.push(...added);
  }
  if (owned.length === 0) records.finalizers.delete(key);
  else records.finalizers.set(key, owned);
}

/** Step 2, and the values that nobody asked for. */
async function admitFirstValue(
  update: ScopedUpdate,
  key: string,
  value: string,
  byValue: ReadonlyMap<string, IndexedScope>,
): Promise<void> {
  try {
    await admitAssignment(update, key, value, byValue);
  } catch (error) {
    if (!(error instanceof ScopeRuleError) || update.fields?.isDefaulted(key) !== true) throw error;
    setValue(update, key, undefined);
  }
}

async function admitAssignment(
  { old, mayAssign, admitNewValue }: ScopedUpdate,
  key: string,
  value: string,
  byValue: ReadonlyMap<string, IndexedScope>,
): Promise<void> {
  const scope = byValue.get(value);
  if (scope === undefined) return admitNewValue(key, value);
  const { spec, metadata } = scope.object;
  const existedBefore = Date.parse(old.creationTimestamp ?? '') < Date.parse(metadata.creationTimestamp ?? '');
  if (spec?.assignment === 'Consumer' && existedBefore) return;
  if (!(await mayAssign(scope)))
    throw new ScopeRuleError(
      `${named(key)} is protected: it can be set when the object is created, later only with the verb "assign" on APIExportScope ${quote(scope.name)}`,
    );
}

/** Step 3. */
async function requestTransfer(
  update: ScopedUpdate,
  key: string,
  before: string,
  after: string,
  byValue: ReadonlyMap<string, IndexedScope>,
  records: ScopeRecords,
  isForced: boolean,
): Promise<void> {
  const { metadata, now } = update;
  const from = byValue.get(before);
  const to = byValue.get(after);
  if (to === undefined) throw unknownScope(key, after);
  await requireTransferable(update, key, from === undefined ? [to] : [from, to]);
  const owned = records.finalizers.get(key) ?? [];
  const pending = records.transfers.get(key);
  if (isForced) {
    if (pending?.to !== after || Date.parse(pending.deadline) > now.getTime())
      throw new ScopeRuleError(
        `the transfer to ${quote(after)} cannot be forced before ${pending?.to === after ? pending.deadline : 'it was requested and its deadline has passed'}`,
      );
    const kept = (metadata.finalizers ?? []).filter((name) => !owned.includes(name));
    if (kept.length > 0) metadata.finalizers = kept;
    else delete metadata.finalizers;
  }
  if (isForced || owned.length === 0) {
    records.finalizers.delete(key);
    records.transfers.delete(key);
    return;
  }
  restoreValue(update, key);
  if (pending?.to === after) return;
  const deadline = new Date(
    now.getTime() + (from?.object.spec?.transferDeadlineSeconds ?? defaultDeadlineSeconds) * 1000,
  );
  records.transfers.set(key, {
    from: before,
    to: after,
    requestedAt: formatTime(now),
    deadline: formatTime(deadline),
  });
}

/** The default of `spec.transferDeadlineSeconds`. */
const defaultDeadlineSeconds = 3_600;

async function requireTransferable(
  { mayAssign }: ScopedUpdate,
  key: string,
  scopes: readonly IndexedScope[],
): Promise<void> {
  // The right first: who has none learns nothing about the scopes.
  await requireAssign(key, scopes, mayAssign);
  for (const { name, object } of scopes)
    if (object.spec?.transfer !== 'WhenFinalizersGone')
      throw new ScopeRuleError(`APIExportScope ${quote(name)} does not allow transfers`);
}

async function requireAssign(
  key: string,
  scopes: readonly IndexedScope[],
  mayAssign: ScopedUpdate['mayAssign'],
): Promise<void> {
  for (const scope of scopes)
    if (!(await mayAssign(scope)))
      throw new ScopeRuleError(
        `${named(key)} is protected: a change needs the verb "assign" on the APIExportScopes of both values`,
      );
}

export const unknownScope = (key: string, value: string): ScopeRuleError =>
  new ScopeRuleError(`${named(key)} is protected, and no APIExportScope has the value ${quote(value)}`);

/** A key in a message. */
export const named = (key: string): string => `${isFieldKey(key) ? 'field' : 'label'} ${quote(shownKey(key))}`;

/** Removes the annotations by which a client asks for something; they are never stored. */
export function takeRequests(metadata: ScopedMetadata): void {
  for (const annotation of [forceTransferAnnotation, cancelTransferAnnotation]) takeRequest(annotation, metadata, {});
}

/**
 * Removes such an annotation; returns whether this write asks for it. An annotation that the stored object has was written
 * before the resource had scopes: it asks for nothing.
 */
function takeRequest(annotation: string, metadata: ScopedMetadata, old: DeepReadonly<ScopedMetadata>): boolean {
  const { [annotation]: value, ...annotations } = metadata.annotations ?? {};
  if (value === undefined) return false;
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
  return value === 'true' && old.annotations?.[annotation] !== value;
}

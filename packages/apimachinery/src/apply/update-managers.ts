import { runToCompletion } from '../async/run-to-completion.ts';
import type { DeepReadonly, JsonObject } from '../json/json.ts';
import { ApplyConflicts } from './apply-conflict.ts';
import { type Comparison, compareIncrementally, compareTyped } from './compare-typed.ts';
import { FieldSet } from './field-set.ts';
import { fieldSetOf } from './field-set-of.ts';
import type { ListElements } from './list-elements.ts';
import type { ManagedSet, Managers } from './managed-fields.ts';
import { mergeIncrementally, mergeTyped } from './merge-typed.ts';
import { reconcileWithSchema } from './reconcile-schema.ts';
import { removeFields, withNamedFields } from './remove-fields.ts';
import type { TypedSchema } from './typed-schema.ts';

/** An object in one of its versions. */
export interface TypedObject {
  readonly value: DeepReadonly<JsonObject>;
  readonly schema: TypedSchema;
}

/** The other versions of a kind. */
export interface VersionedViews {
  /** Undefined when the version is not served any more. */
  schema(apiVersion: string): TypedSchema | undefined;
  /** The object in another version; undefined when that version is not served any more. */
  convert(object: TypedObject, from: string, to: string): TypedObject | undefined;
}

export interface ManagerUpdate {
  readonly live: TypedObject;
  readonly apiVersion: string;
  readonly managers: Managers;
  /** The key of who writes. */
  readonly manager: string;
  readonly views: VersionedViews;
  /** Takes off what the endpoint cannot change. */
  readonly filter: (set: FieldSet) => FieldSet;
  /** Given for large objects: the passes yield, and the values must not change until the end. */
  readonly elements?: ListElements | undefined;
}

export interface Updated {
  /** Without what the write took: that is for the caller to add to the writer's own. */
  readonly managers: Managers;
  /** The fields that the write set. */
  readonly taken: FieldSet;
}

/**
 * Ownership after a write that brought the whole object: the writer owns what it changed, other managers lose it, and
 * removed fields have no owner. Returns the managers it was given when nothing changed. It pauses between its passes,
 * as {@link applyConfiguration} does.
 */
export function* updateOwnership(update: ManagerUpdate, object: TypedObject): Generator<void, Updated> {
  const { live, filter } = update;
  const comparison = (yield* compare(update, live.value, object.value, live.schema)).filter(filter);
  yield;
  const managers = reconcileAll(update);
  if (comparison.isSame) return { managers, taken: FieldSet.empty };
  const settled = yield* settle(update, managers, object, comparison, true);
  yield;
  return { managers: settled, taken: comparison.modified.union(comparison.added) };
}

/** Runs {@link updateOwnership} in one go. */
export function managersAfterUpdate(update: ManagerUpdate, object: TypedObject): Updated {
  return runToCompletion(updateOwnership(update, object));
}

export interface Applied {
  /** Undefined: the configuration changes nothing of the object. It shares parts with the live object and the configuration. */
  readonly object: JsonObject | undefined;
  readonly managers: Managers;
}

/**
 * Server-side apply: merge, take away what the manager applied before and does not any more, compare, settle
 * ownership. Throws {@link ApplyConflicts} unless `force`. It pauses between its passes, each of which is linear in the
 * size of the object, so that a caller can give way to others.
 */
export function* applyConfiguration(
  update: ManagerUpdate,
  config: DeepReadonly<JsonObject>,
  force: boolean,
): Generator<void, Applied> {
  const { live, apiVersion, manager, filter, elements } = update;
  const { schema } = live;
  const before = reconcileAll(update);
  yield;
  const merged: DeepReadonly<JsonObject> =
    elements === undefined
      ? mergeTyped(live.value, config, schema)
      : yield* mergeIncrementally(live.value, config, schema, elements);
  yield;
  const set = filter(fieldSetOf(config, schema, elements));
  yield;
  const managers = new Map(before);
  managers.set(manager, { set, apiVersion, applied: true });
  const pruned = yield* prune({ value: merged, schema }, { ...update, managers }, before.get(manager), set);
  yield;
  const comparison = (yield* compare(update, live.value, pruned, schema)).filter(filter);
  yield;
  const settled = yield* settle(update, managers, { value: pruned, schema }, comparison, force);
  return { object: comparison.isSame ? undefined : (pruned as JsonObject), managers: settled };
}

function* compare(
  { elements }: ManagerUpdate,
  before: DeepReadonly<JsonObject>,
  after: DeepReadonly<JsonObject>,
  schema: TypedSchema,
): Generator<void, Comparison> {
  return elements === undefined
    ? compareTyped(before, after, schema)
    : yield* compareIncrementally(before, after, schema, elements);
}

/** Runs {@link applyConfiguration} in one go. */
export function applyAtOnce(update: ManagerUpdate, config: DeepReadonly<JsonObject>, force: boolean): Applied {
  return runToCompletion(applyConfiguration(update, config, force));
}

function reconcileAll({ live, apiVersion, managers, views }: ManagerUpdate): Managers {
  let result: Map<string, ManagedSet> | undefined;
  for (const [key, entry] of managers) {
    const schema = entry.apiVersion === apiVersion ? live.schema : views.schema(entry.apiVersion);
    if (schema === undefined) continue;
    const set = reconcileWithSchema(entry.set, schema);
    if (set !== entry.set) (result ??= new Map(managers)).set(key, { ...entry, set });
  }
  return result ?? managers;
}

/** Takes changed fields from the other managers, or refuses; takes removed fields from everybody; drops who owns nothing. */
function* settle(
  update: ManagerUpdate,
  managers: Managers,
  object: TypedObject,
  comparison: Comparison,
  force: boolean,
): Generator<void, Managers> {
  const { live, apiVersion, manager, views, filter } = update;
  const comparisons = new Map<string, Comparison | undefined>([[apiVersion, comparison]]);
  const changes = new Map<Comparison, FieldSet>();
  const conflicts = new Map<string, FieldSet>();
  const result = new Map<string, ManagedSet>();
  for (const [key, entry] of managers) {
    if (key === manager) {
      // An applier's set is what it just applied.
      const set = entry.applied ? entry.set : entry.set.difference(comparison.removed);
      if (!set.isEmpty) result.set(key, set === entry.set ? entry : { ...entry, set });
      continue;
    }
    let theirs = comparisons.get(entry.apiVersion);
    if (theirs === undefined && !comparisons.has(entry.apiVersion)) {
      yield;
      const old = views.convert(live, apiVersion, entry.apiVersion);
      yield;
      const now = views.convert(object, apiVersion, entry.apiVersion);
      yield;
      if (old !== undefined && now !== undefined)
        theirs = (yield* compare(update, old.value, now.value, old.schema)).filter(filter);
      comparisons.set(entry.apiVersion, theirs);
    }
    // An entry of a version that is no longer served cannot be interpreted.
    if (theirs === undefined) continue;
    let changed = changes.get(theirs);
    if (changed === undefined) {
      changed = theirs.modified.union(theirs.added);
      changes.set(theirs, changed);
    }
    const conflict = entry.set.intersection(changed);
    if (!conflict.isEmpty) conflicts.set(key, conflict);
    const rest = entry.set.difference(conflict).difference(theirs.removed);
    if (!rest.isEmpty) result.set(key, rest === entry.set ? entry : { ...entry, set: rest });
  }
  if (!force && conflicts.size > 0) throw new ApplyConflicts(conflicts);
  return result;
}

/**
 * Takes away what the manager applied last and does not name any more, unless another manager owns it. What it never
 * applied stays, wherever it stands.
 */
function* prune(
  merged: TypedObject,
  { apiVersion, managers, views, elements }: ManagerUpdate,
  last: ManagedSet | undefined,
  set: FieldSet,
): Generator<void, DeepReadonly<JsonObject>> {
  // The usual case: everything applied before is applied again, so nothing can go.
  if (last === undefined || last.set.isEmpty) return merged.value;
  if (last.apiVersion === apiVersion && last.set.difference(set).isEmpty) return merged.value;
  const whole = last.apiVersion === apiVersion ? merged : views.convert(merged, apiVersion, last.apiVersion);
  if (whole === undefined) return merged.value;
  const { schema } = whole;
  const named = (fields: FieldSet): FieldSet => withNamedFields(fields, schema);
  yield;
  const lastNamed = named(last.set);
  yield;
  let pruned = removeFields(whole.value, lastNamed, schema, elements);
  yield;
  const ownedByVersion = new Map<string, FieldSet>([[last.apiVersion, FieldSet.empty]]);
  for (const { apiVersion: version, set: owned } of managers.values())
    ownedByVersion.set(version, (ownedByVersion.get(version) ?? FieldSet.empty).union(owned));
  for (const [version, owned] of ownedByVersion) {
    const from = version === last.apiVersion ? whole : views.convert(whole, last.apiVersion, version);
    const cut =
      version === last.apiVersion ? pruned : views.convert({ value: pruned, schema }, last.apiVersion, version)?.value;
    if (from === undefined || cut === undefined) continue;
    const left = fieldSetOf(cut, from.schema, elements);
    yield;
    const leftNamed = withNamedFields(left, from.schema);
    yield;
    const keep = leftNamed.union(withNamedFields(owned, from.schema));
    yield;
    const all = fieldSetOf(from.value, from.schema, elements);
    yield;
    const goes = withNamedFields(all, from.schema).difference(keep);
    yield;
    const rest = { value: removeFields(from.value, goes, from.schema, elements), schema: from.schema };
    pruned = (version === last.apiVersion ? rest : (views.convert(rest, version, last.apiVersion) ?? { value: pruned }))
      .value as JsonObject;
    yield;
  }
  const there = named(fieldSetOf(whole.value, schema, elements));
  yield;
  const stays = named(fieldSetOf(pruned, schema, elements));
  yield;
  const goes = there.difference(stays).intersection(lastNamed);
  yield;
  const result = { value: removeFields(whole.value, goes, schema, elements), schema };
  return last.apiVersion === apiVersion
    ? result.value
    : (views.convert(result, last.apiVersion, apiVersion)?.value ?? merged.value);
}

import { runToCompletion } from '../async/run-to-completion.ts';
import { deepCopyIncrementally } from '../json/json-steps.ts';
import { isJsonObject, setOwn, type DeepReadonly, type Json, type JsonObject } from '../json/json.ts';
import { MemberCount } from './member-count.ts';
import { malformedPatch } from './patch-errors.ts';

/**
 * RFC 7386: null removes, objects merge, everything else replaces. As in Kubernetes' library the patch must be an object
 * (StatusError 400 else), and what a patch adds is freed of nulls in nested objects, in lists too. The result
 * shares nothing with the arguments. Throws StatusError 413 when an object gets more than `maxJsonMembers` members.
 */
export function applyMergePatch(document: DeepReadonly<Json>, patch: Json): Json {
  return runToCompletion(applyMergePatchIncrementally(document, patch));
}

/** {@link applyMergePatch} with a pause between its passes. */
export function* applyMergePatchIncrementally(document: DeepReadonly<Json>, patch: Json): Generator<void, Json> {
  if (!isJsonObject(patch)) throw malformedPatch('Invalid JSON Patch');
  const target = yield* deepCopyIncrementally(document);
  yield;
  return isJsonObject(target) ? yield* mergeObject(target, patch, { members: 0 }) : yield* copyWithoutNulls(patch);
}

/** Members per pass. */
const membersPerPass = 2_000;

function* mergeObject(target: JsonObject, patch: JsonObject, merged: { members: number }): Generator<void, JsonObject> {
  const names = Object.keys(patch);
  if (names.length > membersPerPass) yield;
  const count = new MemberCount(target);
  for (const name of names) {
    if (++merged.members % membersPerPass === 0) yield;
    const change = patch[name] as Json;
    if (change === null) {
      count.delete(name);
      continue;
    }
    yield* count.beforeSet(name);
    const current = Object.hasOwn(target, name) ? (target[name] as Json) : null;
    if (isJsonObject(current))
      setOwn(
        target,
        name,
        isJsonObject(change) ? yield* mergeObject(current, change, merged) : yield* deepCopyIncrementally(change),
      );
    else setOwn(target, name, typeof change === 'object' ? yield* copyWithoutNulls(change) : change);
  }
  count.check();
  return target;
}

/** {@link withoutNullsIncrementally} of a copy. */
export function* copyWithoutNulls<T extends Json>(value: T): Generator<void, T> {
  return yield* withoutNullsIncrementally(yield* deepCopyIncrementally<T>(value as DeepReadonly<T>));
}

/** Drops members that are null at every depth, in place and in passes; null elements of lists stay. */
export function* withoutNullsIncrementally<T extends Json>(value: T): Generator<void, T> {
  const pending: Json[] = [value];
  let members = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (++members % membersPerPass === 0) yield;
    if (Array.isArray(next)) {
      for (const item of next) {
        if (typeof item === 'object' && item !== null) pending.push(item);
        if (++members % membersPerPass === 0) yield;
      }
    } else if (isJsonObject(next)) {
      for (const name of Object.keys(next)) {
        const item = next[name] as Json;
        if (item === null) delete next[name];
        else if (typeof item === 'object') pending.push(item);
        if (++members % membersPerPass === 0) yield;
      }
    }
  }
  return value;
}

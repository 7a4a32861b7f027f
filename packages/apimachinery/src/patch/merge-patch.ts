import { runToCompletion } from '../async/run-to-completion.ts';
import { deepCopyIncrementally } from '../json/json-steps.ts';
import { deepCopy, isJsonObject, setOwn, type DeepReadonly, type Json, type JsonObject } from '../json/json.ts';
import { malformedPatch } from './patch-errors.ts';

/**
 * RFC 7386: null removes, objects merge, everything else replaces. As in Kubernetes' library the patch must be an object
 * (StatusError 400 else), and what a patch adds is freed of nulls in nested objects, in lists too. The result
 * shares nothing with the arguments.
 */
export function applyMergePatch(document: DeepReadonly<Json>, patch: Json): Json {
  return runToCompletion(applyMergePatchIncrementally(document, patch));
}

/** {@link applyMergePatch} with a pause between its passes. */
export function* applyMergePatchIncrementally(document: DeepReadonly<Json>, patch: Json): Generator<void, Json> {
  if (!isJsonObject(patch)) throw malformedPatch('Invalid JSON Patch');
  const target = yield* deepCopyIncrementally(document);
  yield;
  return isJsonObject(target) ? mergeObject(target, patch) : withoutNulls(deepCopy(patch));
}

function mergeObject(target: JsonObject, patch: JsonObject): JsonObject {
  for (const name of Object.keys(patch)) {
    const change = patch[name] as Json;
    if (change === null) {
      delete target[name];
      continue;
    }
    const current = Object.hasOwn(target, name) ? (target[name] as Json) : null;
    if (isJsonObject(current))
      setOwn(target, name, isJsonObject(change) ? mergeObject(current, change) : deepCopy(change));
    else setOwn(target, name, withoutNulls(deepCopy(change)));
  }
  return target;
}

/** Drops members that are null at every depth, in place; null elements of lists stay. */
export function withoutNulls<T extends Json>(value: T): T {
  if (Array.isArray(value)) {
    for (const item of value) withoutNulls(item);
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const item = value[name] as Json;
      if (item === null) delete value[name];
      else withoutNulls(item);
    }
  }
  return value;
}

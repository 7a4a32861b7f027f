import { deepCopy, isJsonObject, setOwn, type DeepReadonly, type Json, type JsonObject } from '../json/json.ts';
import { malformedPatch } from './patch-errors.ts';

/**
 * RFC 7386: null removes, objects merge, everything else replaces. As in Kubernetes' library the patch must be an object
 * (StatusError 400 else), and what a patch adds is freed of nulls in nested objects, in lists too. The result
 * shares nothing with the arguments; its size is for the caller to check.
 */
export function applyMergePatch(document: DeepReadonly<Json>, patch: Json): Json {
  if (!isJsonObject(patch)) throw malformedPatch('Invalid JSON Patch');
  return isJsonObject(document) ? mergeObject(document, patch) : copyWithoutNulls(patch);
}

function mergeObject(document: JsonObject, patch: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const name in document) {
    const current = document[name] as Json;
    const change = Object.hasOwn(patch, name) ? (patch[name] as Json) : undefined;
    if (change === undefined) setOwn(result, name, deepCopy(current));
    else if (change !== null) setOwn(result, name, mergeMember(current, change));
  }
  for (const name in patch) {
    const change = patch[name] as Json;
    if (change !== null && !Object.hasOwn(document, name)) setOwn(result, name, copyWithoutNulls(change));
  }
  return result;
}

function mergeMember(current: Json, change: Json): Json {
  if (!isJsonObject(current)) return copyWithoutNulls(change);
  return isJsonObject(change) ? mergeObject(current, change) : deepCopy(change);
}

/** A copy without the members that are null at any depth; null elements of lists stay. */
export function copyWithoutNulls<T extends Json>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyWithoutNulls) as T;
  const copy: JsonObject = {};
  for (const name of Object.keys(value)) {
    const member = value[name] as Json;
    if (member !== null) setOwn(copy, name, copyWithoutNulls(member));
  }
  return copy as T;
}

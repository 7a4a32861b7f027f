import { deepCopy, isJsonObject, setOwn, type DeepReadonly, type Json, type JsonObject } from '../json/json.ts';
import { checkExtent } from './extent.ts';
import { malformedPatch } from './patch-errors.ts';

/**
 * RFC 7386: null removes, objects merge, everything else replaces. As in Kubernetes' library the patch must be an object
 * (StatusError 400 else), and what a patch adds is freed of nulls in nested objects, in lists too. The result
 * shares nothing with the arguments. Throws StatusError 413 for a result that is larger than a body may be.
 */
export function applyMergePatch(document: DeepReadonly<Json>, patch: Json): Json {
  if (!isJsonObject(patch)) throw malformedPatch('Invalid JSON Patch');
  const target = deepCopy(document);
  const result = isJsonObject(target) ? mergeObject(target, patch) : copyWithoutNulls(patch);
  checkExtent(result);
  return result;
}

function mergeObject(target: JsonObject, patch: JsonObject): JsonObject {
  for (const name of Object.keys(patch)) {
    const change = patch[name] as Json;
    if (change === null) {
      delete target[name];
      continue;
    }
    const current = Object.hasOwn(target, name) ? (target[name] as Json) : null;
    if (!isJsonObject(current)) setOwn(target, name, copyWithoutNulls(change));
    else setOwn(target, name, isJsonObject(change) ? mergeObject(current, change) : deepCopy(change));
  }
  return target;
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

import { goFloat, goNumeric } from '../go/go-float.ts';
import {
  deepCopy,
  getOwn,
  isJsonObject,
  setOwn,
  type DeepReadonly,
  type Json,
  type JsonArray,
  type JsonObject,
} from '../json/json.ts';
import { statusErrors, type StatusError } from '../errors/status-error.ts';
import { identityOf, mergeItems, mergeScalars, orderLike } from './strategic-merge-list.ts';
import { malformedPatch, patchNotApplicable, unfitPatch } from './patch-errors.ts';

/** What a strategic merge needs to know of a place in a schema. `PatchMeta` of a compiled schema is one. */
export interface PatchMetaLike {
  /** `merge`, `replace`, `retainKeys`; empty: merge objects, replace lists. */
  readonly strategies: readonly string[];
  /** The merge key of the list. */
  readonly mergeKey: string | undefined;
  /** Meta of a member of this object, or of the objects in this list. Undefined: nothing is known. */
  field(name: string): PatchMetaLike | undefined;
}

const directive = '$patch';
const retainKeys = '$retainKeys';
const deletePrefix = '$deleteFromPrimitiveList';
const orderPrefix = '$setElementOrder';

/**
 * Kubernetes' strategic merge. In the order of the work, for each object: `$patch` replaces or empties it;
 * `$retainKeys` drops what it does not name; lists with a `$setElementOrder` are merged and put in order; then every
 * member of the patch: null removes, objects and lists merge as their meta says, all else replaces. What the document
 * does not have is taken from the patch without directives and nulls.
 *
 * The result shares nothing with the arguments; its size is for the caller to check. Throws StatusError: 400 for a malformed
 * patch, 422 for one that does not fit, an untyped 500 for what upstream does not foresee (an element without its merge key).
 * `onChange` receives the copy of the patch that the merge uses up: what is left of it is what Kubernetes quotes in the error of
 * a result that is not valid.
 */
export function applyStrategicMergePatch(
  document: DeepReadonly<JsonObject>,
  patch: Json,
  meta: PatchMetaLike,
  onChange?: (change: JsonObject) => void,
): JsonObject {
  if (!isJsonObject(patch)) throw unfitPatch(patch, 'map[string]interface {}');
  const change = deepCopy<JsonObject>(patch);
  onChange?.(change);
  return mergeObject(deepCopy<JsonObject>(document), change, meta);
}

/** Both arguments are private copies and are used up. */
function mergeObject(target: JsonObject, patch: JsonObject, meta: PatchMetaLike | undefined): JsonObject {
  const instruction = getOwn(patch, directive);
  if (instruction !== undefined) return obeyDirective(instruction, patch);
  applyRetainKeys(target, patch);
  applyElementOrders(target, patch, meta);
  for (const name of Object.keys(patch)) {
    const change = patch[name] as Json;
    if (name.startsWith(deletePrefix)) {
      deleteFromList(target, fieldAfter(name, deletePrefix, 'invalid patch format of primitive list'), change);
    } else {
      mergeMember(target, name, change, meta?.field(name));
    }
  }
  return target;
}

function obeyDirective(instruction: Json, patch: JsonObject): JsonObject {
  if (instruction === 'replace') {
    delete patch[directive];
    return patch;
  }
  if (instruction === 'delete') return {};
  throw unknownDirective(instruction, patch);
}

function mergeMember(target: JsonObject, name: string, change: Json, meta: PatchMetaLike | undefined): void {
  if (change === null) {
    delete target[name];
    return;
  }
  const current = getOwn(target, name);
  if (isJsonObject(current) && isJsonObject(change)) {
    setOwn(target, name, strategyOf(meta) === 'replace' ? change : mergeObject(current, change, meta));
  } else if (Array.isArray(current) && Array.isArray(change)) {
    setOwn(target, name, mergeList(current, change, meta));
  } else {
    const kept = typeof change === 'object' ? withoutDirectives(dropNulls(change)) : change;
    if (kept === undefined) delete target[name];
    else setOwn(target, name, kept);
  }
}

/** The strategy besides `retainKeys`. */
const strategyOf = (meta: PatchMetaLike | undefined): string | undefined =>
  meta?.strategies.find((strategy) => strategy !== 'retainKeys');

function mergeList(current: JsonArray, change: JsonArray, meta: PatchMetaLike | undefined): JsonArray {
  if (strategyOf(meta) !== 'merge') return change;
  if (current.length === 0 && change.length === 0) return current;
  if (elementsAre(current, change) === 'scalars') return mergeScalars(current, change);
  const key = meta?.mergeKey;
  if (key === undefined || key === '') throw statusErrors.untyped('cannot merge lists without merge key');
  const { kept, additions } = obeyElements(current as JsonObject[], change as JsonObject[], key);
  return mergeItems(
    kept,
    additions,
    (item) => mergeKeyOf(item, key),
    (item, patch) => mergeObject(item, patch, meta),
  );
}

/** What kind of elements lists have; they must all be of one. */
function elementsAre(...lists: JsonArray[]): 'objects' | 'scalars' {
  let kind: string | undefined;
  for (const list of lists) {
    for (const item of list) {
      if (Array.isArray(item)) throw patchNotApplicable('lists of lists are not supported');
      const type = item === null ? 'null' : typeof item === 'bigint' ? 'number' : typeof item;
      if (kind !== undefined && kind !== type)
        throw statusErrors.untyped(`list element types are not identical: ${goMap(lists)}`);
      kind = type;
    }
  }
  return kind === 'object' ? 'objects' : 'scalars';
}

/** Obeys `$patch` in elements: `delete` takes elements away, `replace` makes the rest of the patch the whole list. */
function obeyElements(
  current: JsonObject[],
  change: JsonObject[],
  key: string,
): { kept: JsonObject[]; additions: JsonObject[] } {
  const additions: JsonObject[] = [];
  const deleted = new Set<string>();
  let replace = false;
  for (const item of change) {
    const instruction = getOwn(item, directive);
    if (instruction === undefined) additions.push(item);
    else if (instruction === 'delete') deleted.add(mergeKeyOf(item, key));
    else if (instruction === 'replace') replace = true;
    else if (instruction === 'merge') throw statusErrors.untyped('merging lists cannot yet be specified in the patch');
    else throw unknownDirective(instruction, item);
  }
  if (replace) return { kept: additions, additions: [] };
  const kept =
    deleted.size === 0
      ? current
      : current.filter((item) => !Object.hasOwn(item, key) || !deleted.has(mergeKeyOf(item, key)));
  return { kept, additions };
}

/** The identity of an element. Throws an untyped 500 when it has none. */
function mergeKeyOf(item: JsonObject, key: string): string {
  const value = getOwn(item, key);
  if (value === undefined)
    throw statusErrors.untyped(`map: ${goMap(item)} does not contain declared merge key: ${key}`);
  return identityOf(value);
}

function applyRetainKeys(target: JsonObject, patch: JsonObject): void {
  const list = getOwn(patch, retainKeys);
  if (list === undefined) return;
  delete patch[retainKeys];
  if (!Array.isArray(list)) throw malformedPatch('invalid patch format of retainKeys');
  const retained = new Set(list);
  for (const name of Object.keys(patch)) {
    if (patch[name] === null || name.startsWith(deletePrefix) || name.startsWith(orderPrefix)) continue;
    if (!retained.has(name)) throw patchNotApplicable("patch content doesn't match retainKeys list");
  }
  for (const name of Object.keys(target)) if (!retained.has(name)) delete target[name];
}

function applyElementOrders(target: JsonObject, patch: JsonObject, meta: PatchMetaLike | undefined): void {
  for (const directiveName of Object.keys(patch)) {
    if (!directiveName.startsWith(orderPrefix)) continue;
    const order = patch[directiveName] as Json;
    delete patch[directiveName];
    const badFormat = 'invalid patch format of setElementOrder list';
    const name = fieldAfter(directiveName, orderPrefix, badFormat);
    const [current, change] = [getOwn(target, name), getOwn(patch, name)];
    if (!Array.isArray(order) || !isListOrAbsent(current) || !isListOrAbsent(change)) throw malformedPatch(badFormat);
    if (current === undefined && change === undefined) continue;
    const listMeta = meta?.field(name);
    const key = listMeta?.mergeKey;
    const identity = (item: Json): string =>
      key === undefined || key === '' || !isJsonObject(item) ? identityOf(item) : mergeKeyOf(item, key);
    checkOrder(change ?? [], order, identity);
    const merged =
      change === undefined
        ? (current as JsonArray)
        : current === undefined
          ? (withoutDirectives(change) as JsonArray)
          : mergeList(current, change, listMeta);
    setOwn(target, name, orderLike(merged, order, current ?? [], identity));
    delete patch[name];
  }
}

const isListOrAbsent = (value: Json | undefined): value is JsonArray | undefined =>
  value === undefined || Array.isArray(value);

/** Elements of the patch must stand in the same order in the directive. */
function checkOrder(change: JsonArray, order: JsonArray, identity: (item: Json) => string): void {
  const wanted = change.filter((item) => !isJsonObject(item) || getOwn(item, directive) !== 'delete').map(identity);
  let next = 0;
  for (const item of order) if (next < wanted.length && identity(item) === wanted[next]) next++;
  if (next < wanted.length) {
    throw statusErrors.untyped(
      `The order in patch list:\n${goMap(change)}\n doesn't match ${orderPrefix} list:\n${goMap(order)}\n`,
    );
  }
}

function deleteFromList(target: JsonObject, name: string, values: Json): void {
  const current = getOwn(target, name);
  if (!Array.isArray(current) || !Array.isArray(values)) return;
  const gone = new Set(values.map(identityOf));
  setOwn(
    target,
    name,
    current.filter((item) => !gone.has(identityOf(item))),
  );
}

function fieldAfter(name: string, prefix: string, problem: string): string {
  if (name[prefix.length] !== '/') throw malformedPatch(problem);
  return name.slice(prefix.length + 1);
}

/** Drops members that are null at every depth; null elements of lists stay. In place: errors quote what is left of the patch. */
function dropNulls(value: Json): Json {
  if (Array.isArray(value)) for (const item of value) dropNulls(item);
  else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const member = value[name] as Json;
      if (member === null) delete value[name];
      else dropNulls(member);
    }
  }
  return value;
}

/** A value the document does not have: objects with a `$patch` vanish, whatever it says. */
function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  for (const name of Object.keys(value)) {
    const kept = withoutDirectives(value[name] as Json);
    if (kept === undefined) delete value[name];
    else setOwn(value, name, kept);
  }
  return value;
}

function unknownDirective(instruction: Json, map: JsonObject): StatusError {
  const [type] = goTypes.find(([, is]) => is(instruction)) ?? [];
  const shown = type === undefined ? goMap(instruction) : `%!s(${type}${goMap(instruction)})`;
  return statusErrors.untyped(`unknown patch type: ${shown} in map: ${goMap(map)}`);
}

/** How Go prints a value that is no text as one. */
const goTypes: readonly (readonly [string, (value: Json) => boolean])[] = [
  ['', (value) => value === null],
  ['bool=', (value) => typeof value === 'boolean'],
  ['int64=', (value) => (typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value))],
  ['float64=', (value) => ['number', 'bigint', 'symbol'].includes(typeof value)],
];

/** A literal of a float, see `number-literals.ts`. */
function goLiteral(literal: string): string {
  const value = Number(literal);
  return Object.is(value, -0) ? '-0' : goFloat(value);
}

/** So many characters of a value are printed: an error must not take longer than the request. */
const maxPrinted = 64 * 1024;

/** A value as Go prints it: `map[a:1 b:[x y]]`, at most some 64 KiB. */
export function goMap(value: Json): string {
  const parts: string[] = [];
  let left = maxPrinted;
  const print = (text: string): void => {
    parts.push(text);
    left -= text.length;
  };
  const visit = (item: Json): void => {
    if (left <= 0) return;
    if (Array.isArray(item)) {
      print('[');
      for (const [index, inner] of item.entries()) {
        if (index > 0) print(' ');
        visit(inner);
        if (left <= 0) break;
      }
      print(']');
    } else if (isJsonObject(item)) {
      print('map[');
      for (const [index, name] of Object.keys(item).sort().entries()) {
        print(`${index > 0 ? ' ' : ''}${name}:`);
        visit(item[name] as Json);
        if (left <= 0) break;
      }
      print(']');
    } else if (typeof item === 'symbol') print(goLiteral((item as symbol).description ?? ''));
    else if (typeof item === 'number' || typeof item === 'bigint') print(goNumeric(item));
    else print(item === null ? '<nil>' : String(item));
  };
  visit(value);
  return parts.join('');
}

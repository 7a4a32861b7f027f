import { runToCompletion } from '../async/run-to-completion.ts';
import { encodeJson, maxJsonDepth } from '../json/json-codec.ts';
import {
  deepCopy,
  deepEqual,
  getOwn,
  isJsonObject,
  setOwn,
  type DeepReadonly,
  type Json,
  type JsonArray,
  type JsonObject,
} from '../json/json.ts';
import { isStatusError, statusErrors } from '../errors/status-error.ts';
import { patchNotApplicable, unfitPatch } from './patch-errors.ts';

/** More operations are refused. */
export const maxJsonPatchOperations = 10_000;
/** How much all `copy` operations together may add, in bytes of JSON: a few could double the object again and again. */
const maxCopiedBytes = 3 * 1024 * 1024;
/** An operation on a long list may move all that comes after it. */
const operationsPerStep = 100;

/** One operation as it came; what is missing or of a wrong type only matters when it is applied. */
export interface JsonPatchOperation {
  readonly op?: Json;
  readonly path?: Json;
  readonly from?: Json;
  readonly value?: Json;
}

const operationFields = new Set(['op', 'path', 'from', 'value']);

/**
 * Checks the frame of a JSON patch: null is an empty list, a null operation one without members. Throws StatusError 400 when
 * it is no list of objects, 413 when it is too long.
 */
export function decodeJsonPatch(patch: Json): readonly JsonPatchOperation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw unfitPatch(patch, 'jsonpatch.Patch');
  for (const operation of patch) {
    if (operation !== null && !isJsonObject(operation)) throw unfitPatch(operation, 'jsonpatch.Operation');
  }
  if (patch.length > maxJsonPatchOperations) {
    throw statusErrors.tooLarge(
      `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${patch.length}`,
    );
  }
  return patch.map((operation) => (operation ?? {}) as JsonPatchOperation);
}

/** Paths of members that no operation has (`[1].extra`), for `fieldValidation`; texts begin with `json patch unknown field`. */
export function unknownJsonPatchFields(operations: readonly JsonPatchOperation[]): string[] {
  const paths: string[] = [];
  operations.forEach((operation, index) => {
    for (const name of Object.keys(operation)) if (!operationFields.has(name)) paths.push(`[${index}].${name}`);
  });
  return paths;
}

/**
 * RFC 6902 with the liberties of the library that Kubernetes uses: negative indices count from the end,
 * `replace` of a missing member adds it, `test` takes null for a missing member, `copy` of a missing member copies null,
 * and whatever stands before the first slash of a path is ignored. All or nothing: the result is a new object.
 * Throws StatusError 422 when an operation fails, and what {@link decodeJsonPatch} throws.
 */
export function applyJsonPatch(document: DeepReadonly<Json>, patch: Json): Json {
  return runToCompletion(applyJsonPatchIncrementally(document, patch));
}

/** {@link applyJsonPatch} with pauses between its passes and operations. */
export function* applyJsonPatchIncrementally(document: DeepReadonly<Json>, patch: Json): Generator<void, Json> {
  const operations = decodeJsonPatch(patch);
  const state: State = { root: deepCopy(document), copied: 0 };
  try {
    for (const [index, operation] of operations.entries()) {
      if (index % operationsPerStep === 0) yield;
      apply(state, operation, index);
    }
    yield;
    if (nestsDeeper(state.root, maxJsonDepth)) throw patchNotApplicable('exceeded max depth');
  } catch (error) {
    if (isStatusError(error)) throw error;
    if (error instanceof RangeError) throw patchNotApplicable('exceeded max depth');
    throw error;
  }
  return state.root;
}

interface State {
  root: Json;
  copied: number;
}

function apply(state: State, operation: JsonPatchOperation, index: number): void {
  const fail = (why: string): never => {
    throw patchNotApplicable(`operation ${index}: ${why}`);
  };
  const path = typeof operation.path === 'string' ? operation.path : fail('no path');
  switch (operation.op) {
    case 'add':
      locate(state.root, path, fail).add(deepCopy(operation.value ?? null));
      return;
    case 'remove':
      locate(state.root, path, fail).remove();
      return;
    case 'replace':
      replace(state, path, deepCopy(operation.value ?? null), fail);
      return;
    case 'test': {
      const value = path === '' ? state.root : locate(state.root, path, fail).get();
      if (!deepEqual(value ?? null, operation.value ?? null)) fail('test failed');
      return;
    }
    case 'move':
    case 'copy': {
      const from = locate(state.root, typeof operation.from === 'string' ? operation.from : fail('no from'), fail);
      const value = from.get() ?? null;
      if (operation.op === 'move') {
        from.remove();
        locate(state.root, path, fail).add(value);
        return;
      }
      // Before it is copied: the one that is too many is as large as all before it together.
      state.copied += encodeJson(value).length;
      if (state.copied > maxCopiedBytes) fail('copies are too large');
      locate(state.root, path, fail).add(deepCopy(value));
      return;
    }
    default:
      fail('unknown operation');
  }
}

function replace(state: State, path: string, value: Json, fail: (why: string) => never): void {
  if (path !== '') {
    locate(state.root, path, fail).set(value);
    return;
  }
  if (typeof value !== 'object' || value === null) fail('only an object or a list can replace the whole');
  state.root = value;
}

/** A place in a container; the place itself may not exist yet. */
interface Place {
  get(): Json | undefined;
  add(value: Json): void;
  set(value: Json): void;
  remove(): void;
}

function locate(root: Json, path: string, fail: (why: string) => never): Place {
  const segments = path.split('/');
  if (segments.length < 2 || segments.length > maxJsonDepth + 2) fail('bad path');
  let container: Json | undefined = root;
  for (let index = 1; index < segments.length - 1; index++) {
    const name = unescapeSegment(segments[index] as string);
    container = Array.isArray(container)
      ? container[listIndex(name, container.length, fail)]
      : isJsonObject(container)
        ? getOwn(container, name)
        : undefined;
  }
  const name = unescapeSegment(segments.at(-1) as string);
  if (Array.isArray(container)) return new ListPlace(container, name, fail);
  if (isJsonObject(container)) return new MemberPlace(container, name, fail);
  return fail('missing parent');
}

const unescapeSegment = (segment: string): string =>
  segment.includes('~') ? segment.replaceAll('~1', '/').replaceAll('~0', '~') : segment;

function listIndex(text: string, length: number, fail: (why: string) => never): number {
  if (!/^[+-]?\d{1,9}$/.test(text)) fail('bad index');
  const index = Number(text) < 0 ? Number(text) + length : Number(text);
  return index >= 0 && index < length ? index : fail('index out of range');
}

class MemberPlace implements Place {
  readonly #object: JsonObject;
  readonly #name: string;
  readonly #fail: (why: string) => never;
  constructor(object: JsonObject, name: string, fail: (why: string) => never) {
    this.#object = object;
    this.#name = name;
    this.#fail = fail;
  }
  get(): Json | undefined {
    return getOwn(this.#object, this.#name);
  }
  add(value: Json): void {
    setOwn(this.#object, this.#name, value);
  }
  set(value: Json): void {
    setOwn(this.#object, this.#name, value);
  }
  remove(): void {
    if (!Object.hasOwn(this.#object, this.#name)) this.#fail('missing member');
    delete this.#object[this.#name];
  }
}

class ListPlace implements Place {
  readonly #list: JsonArray;
  readonly #name: string;
  readonly #fail: (why: string) => never;
  constructor(list: JsonArray, name: string, fail: (why: string) => never) {
    this.#list = list;
    this.#name = name;
    this.#fail = fail;
  }
  get(): Json | undefined {
    return this.#list[listIndex(this.#name, this.#list.length, this.#fail)];
  }
  add(value: Json): void {
    if (this.#name === '-') this.#list.push(value);
    else this.#list.splice(listIndex(this.#name, this.#list.length + 1, this.#fail), 0, value);
  }
  set(value: Json): void {
    this.#list[listIndex(this.#name, this.#list.length, this.#fail)] = value;
  }
  remove(): void {
    this.#list.splice(listIndex(this.#name, this.#list.length, this.#fail), 1);
  }
}

/** Whether a value has more than `limit` levels. Looks no deeper than that. */
function nestsDeeper(value: Json, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  if (Array.isArray(value)) return value.some((item) => nestsDeeper(item, limit - 1));
  for (const name in value) if (nestsDeeper(value[name] as Json, limit - 1)) return true;
  return false;
}

import { quote } from '../go/go-quote.ts';
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
import { checkExtent } from './extent.ts';
import { patchNotApplicable, unfitPatch } from './patch-errors.ts';

/** More operations are refused. */
export const maxJsonPatchOperations = 10_000;
/** How much all `copy` operations together may add, in bytes of JSON: a few could double the object again and again. */
const maxCopiedBytes = 3 * 1024 * 1024;
const operationsPerChunk = 100;

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
 * Throws StatusError 422 when an operation fails, 413 when the result is larger than a body may be, and what
 * {@link decodeJsonPatch} throws.
 *
 * Yields after every {@link operationsPerChunk} operations: each may move all items of a long list, so their time is not bounded by
 * the length of the patch and the size of the object.
 */
export function* applyJsonPatch(document: DeepReadonly<Json>, patch: Json): Generator<void, Json> {
  const operations = decodeJsonPatch(patch);
  const state: State = { root: deepCopy<Json>(document), copied: 0 };
  try {
    for (const [index, operation] of operations.entries()) {
      if (index % operationsPerChunk === 0) yield;
      apply(state, operation, deepCopy<Json>(operation.value ?? null));
    }
    yield;
    checkExtent(state.root);
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

/** How an operation fails: at a container that is not there, or in it. The words are those of Kubernetes' library. */
interface Failing {
  readonly missing: () => never;
  readonly in: (why: string) => never;
}

/** `what` is the place in the words of the operation; `where` how errors in the container name it. */
function failing(what: string, where: string): Failing {
  return {
    missing: () => {
      throw patchNotApplicable(`${what}: missing value`);
    },
    in: (why) => {
      throw patchNotApplicable(`${where}: ${why}`);
    },
  };
}

/** `given`: a copy of the value of the operation. */
function apply(state: State, operation: JsonPatchOperation, given: Json): void {
  const op = typeof operation.op === 'string' ? operation.op : 'unknown';
  const fail = (why: string): never => {
    throw patchNotApplicable(why);
  };
  const path =
    typeof operation.path === 'string' ? operation.path : fail(`${op} operation failed to decode path: missing value`);
  const missing = `${op} operation does not apply: doc is missing`;
  const inPath = `error in ${op} for path: '${path}'`;
  switch (op) {
    case 'add':
      locate(state.root, path, failing(`${missing} path: "${path}"`, inPath)).add(given);
      return;
    case 'remove':
      locate(state.root, path, failing(`${missing} path: "${path}"`, inPath)).remove();
      return;
    case 'replace':
      replace(state, path, given);
      return;
    case 'test': {
      const absent = failing(`test operation does not apply: is missing path: ${path}`, inPath);
      const value = path === '' ? state.root : locate(state.root, path, absent).get();
      if (!deepEqual(value ?? null, given)) fail(`testing value ${path} failed: test failed`);
      return;
    }
    case 'move':
    case 'copy': {
      const from =
        typeof operation.from === 'string'
          ? operation.from
          : fail(`${op} operation failed to decode from: missing value`);
      const source = locate(
        state.root,
        from,
        failing(`${missing} from path: ${from}`, op === 'copy' ? `error in copy for from: '${from}'` : inPath),
      );
      const value = source.get() ?? null;
      const target = failing(
        `${missing} destination path: ${path}`,
        op === 'copy' ? 'error while adding value during copy' : inPath,
      );
      if (op === 'move') {
        source.remove();
        locate(state.root, path, target).add(value);
        return;
      }
      // Before it is copied: the one that is too many is as large as all before it together.
      // Nothing is the text of a number whose literal matters.
      state.copied += (encodeJson(value) as string | undefined)?.length ?? 1;
      if (state.copied > maxCopiedBytes) fail('copies are too large');
      locate(state.root, path, target).add(deepCopy(value));
      return;
    }
    default:
      fail(`unexpected kind: ${op}`);
  }
}

function replace(state: State, path: string, value: Json): void {
  if (path !== '') {
    const missing = 'replace operation does not apply: doc is missing';
    // An index that is not there is said to be a missing key.
    const absent = failing(`${missing} path: ${path}`, '');
    locate(state.root, path, {
      ...absent,
      in: () => failing(`${missing} key: ${path}`, '').missing(),
    }).set(value);
    return;
  }
  if (typeof value !== 'object' || value === null)
    throw patchNotApplicable('replace operation value must be object or array: %!w(<nil>)');
  state.root = value;
}

/** A place in a container; the place itself may not exist yet. */
interface Place {
  get(): Json | undefined;
  add(value: Json): void;
  set(value: Json): void;
  remove(): void;
}

function locate(root: Json, path: string, fail: Failing): Place {
  const segments = path.split('/');
  if (segments.length < 2 || segments.length > maxJsonDepth + 2) fail.missing();
  let container: Json | undefined = root;
  for (let index = 1; index < segments.length - 1; index++) {
    const name = unescapeSegment(segments[index] as string);
    container = Array.isArray(container)
      ? container[listIndex(name, container.length, { ...fail, in: fail.missing })]
      : isJsonObject(container)
        ? getOwn(container, name)
        : undefined;
  }
  const name = unescapeSegment(segments.at(-1) as string);
  if (Array.isArray(container)) return new ListPlace(container, name, fail);
  if (isJsonObject(container)) return new MemberPlace(container, name, fail);
  return fail.missing();
}

const unescapeSegment = (segment: string): string =>
  segment.includes('~') ? segment.replaceAll('~1', '/').replaceAll('~0', '~') : segment;

function listIndex(text: string, length: number, fail: Failing): number {
  if (!/^[+-]?\d{1,9}$/.test(text)) fail.in(`strconv.Atoi: parsing ${quote(text)}: invalid syntax`);
  const index = Number(text) < 0 ? Number(text) + length : Number(text);
  return index >= 0 && index < length
    ? index
    : fail.in(`Unable to access invalid index: ${Number(text)}: invalid index referenced`);
}

class MemberPlace implements Place {
  readonly #object: JsonObject;
  readonly #name: string;
  readonly #fail: Failing;
  constructor(object: JsonObject, name: string, fail: Failing) {
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
    if (!Object.hasOwn(this.#object, this.#name))
      this.#fail.in(`Unable to remove nonexistent key: ${this.#name}: missing value`);
    delete this.#object[this.#name];
  }
}

class ListPlace implements Place {
  readonly #list: JsonArray;
  readonly #name: string;
  readonly #fail: Failing;
  constructor(list: JsonArray, name: string, fail: Failing) {
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

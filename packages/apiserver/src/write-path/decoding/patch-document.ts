import {
  type DeepReadonly,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  StatusError,
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  decodeJsonPatch,
  copyWithoutNulls,
  encodeJson,
  fieldErrors,
  goMap,
  isJsonObject,
  isStatusError,
  bodyLimits,
  checkExtent,
  parseJsonIncrementally,
  printableLiterals,
  statusErrors,
  unknownJsonPatchFields,
  withLiterals,
} from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import type { PatchMeta } from '@multiplane/schema';
import { notAnObject } from './decoding-errors.ts';
import { jsonType } from './object-meta-decoder.ts';
import type { FieldValidation } from './strict-decoding.ts';

const jsonPatchType = 'application/json-patch+json';
const mergePatchType = 'application/merge-patch+json';
const strategicPatchType = 'application/strategic-merge-patch+json';
export const applyPatchType = 'application/apply-patch+yaml';

/** A parsed and checked patch; it can be applied to several states of an object. */
export interface PreparedPatch {
  apply(document: DeepReadonly<JsonObject>, work: RequestWork): Promise<Json>;
  /** Errors of strict decoding in the patch itself. */
  readonly strictErrors: readonly string[];
  /** The 422 for a result that is not a valid object; the types of patches quote different values. */
  resultError(result: Json, why: string): StatusError;
  /** The patch cannot change `kind` and `apiVersion`: a strategic patch results in a value of the Go type of the kind. */
  readonly keepsKind?: boolean;
  /** The result may hold literals of numbers, see `number-literals.ts`. */
  readonly hasLiterals?: boolean;
}

/** The type of a patch by its Content-Type; throws 415. `strategic`: the kind supports strategic merge patches. */
export function patchTypeOf(contentType: string, origin: 'built-in' | 'custom', strategic: boolean): string {
  if (contentType === jsonPatchType || contentType === mergePatchType || contentType === applyPatchType)
    return contentType;
  if (contentType === strategicPatchType && strategic) return contentType;
  if (origin === 'custom') throw statusErrors.unsupportedMediaType([jsonPatchType, mergePatchType, applyPatchType]);
  throw new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });
}

export interface PatchOptions {
  readonly validation: FieldValidation;
  /** Of the kind; needed for strategic merge patches. */
  readonly meta: PatchMeta | undefined;
  readonly work: RequestWork;
}

/**
 * Parses a patch. A malformed patch (400) or one with too many operations (413) fails when it is applied: Kubernetes reads
 * the object first, so a missing object is a 404 whatever the patch is.
 */
export async function preparePatch(type: string, body: Buffer, options: PatchOptions): Promise<PreparedPatch> {
  try {
    return await parsePatch(type, body, options);
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return {
      apply: () => Promise.reject(error),
      strictErrors: [],
      resultError: () => error,
    };
  }
}

async function parsePatch(
  type: string,
  body: Buffer,
  { validation, meta, work }: PatchOptions,
): Promise<PreparedPatch> {
  work.grow(body.length);
  let value: Json;
  let duplicates: readonly string[] = [];
  try {
    const text = parseJsonIncrementally(body, validation !== 'Ignore', { limits: bodyLimits });
    ({ value, duplicates } = await work.run(text));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw statusErrors.badRequest(syntaxErrorText(type, validation, error.message), error);
  }
  if (type === jsonPatchType) {
    if (validation !== 'Ignore') checkOperationTypes(value);
    const operations = decodeJsonPatch(value);
    const change = await work.run(withLiterals(body, value ?? []));
    return {
      hasLiterals: change !== value,
      apply: (document, applying) => applying.run(applyJsonPatch(document, change)),
      strictErrors: [
        ...duplicates.map((path) => `json patch duplicate field ${JSON.stringify(path)}`),
        ...unknownJsonPatchFields(operations).map((path) => `json patch unknown field ${JSON.stringify(path)}`),
      ],
      resultError: invalidJsonResult,
    };
  }
  const strictErrors = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  if (type === mergePatchType) {
    if (validation !== 'Ignore' && value !== null && !isJsonObject(value))
      throw decodingFailure(
        `json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go value of type ${goObject}`,
      );
    const change = await work.run(withLiterals(body, value));
    return {
      hasLiterals: change !== value,
      async apply(document, applying) {
        await applying.pause();
        // Without field validation, a list is the result itself.
        const result = Array.isArray(change) ? copyWithoutNulls<Json>(change) : applyMergePatch(document, change);
        await applying.pause();
        checkExtent(result);
        return result;
      },
      strictErrors,
      resultError: invalidJsonResult,
    };
  }
  const change = await work.run(withLiterals(body, value));
  let used: Json = change;
  return {
    hasLiterals: change !== value,
    async apply(document, applying) {
      await applying.pause();
      const result = applyStrategicMergePatch(document, change ?? {}, meta as PatchMeta, (copy) => (used = copy));
      await applying.pause();
      checkExtent(result);
      return result;
    },
    strictErrors,
    resultError: (_result, why) => invalidResult(goMap(used), why),
    keepsKind: true,
  };
}

const goObject = 'map[string]interface {}';

function decodingFailure(why: string): StatusError {
  return statusErrors.badRequest(`error decoding patch: ${why}`);
}

/** The text of a syntax error; the library that merges reports none when it decodes the patch first. */
function syntaxErrorText(type: string, validation: FieldValidation, why: string): string {
  if (type === strategicPatchType) return why;
  if (validation !== 'Ignore') {
    // Only the value of an operation is of any type.
    const place = type === jsonPatchType ? 'struct field jsonPatchOp.value' : 'value';
    return `error decoding patch: ${why.replace('Go value of type float64', `Go ${place} of type float64`)}`;
  }
  return type === mergePatchType ? 'Invalid JSON Patch' : why;
}

/** With field validation, Kubernetes decodes a JSON patch as typed operations first, and reports the first mismatch. */
function checkOperationTypes(patch: Json): void {
  const mismatch = (value: Json, where: string): StatusError =>
    decodingFailure(`json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go ${where}`);
  if (patch === null) return;
  if (!Array.isArray(patch)) throw mismatch(patch, 'value of type []handlers.jsonPatchOp');
  for (const operation of patch) {
    if (operation === null) continue;
    if (!isJsonObject(operation)) throw mismatch(operation, 'value of type handlers.jsonPatchOp');
    for (const [field, value] of Object.entries(operation)) {
      if (field !== 'op' && field !== 'path' && field !== 'from') continue;
      if (value !== null && typeof value !== 'string')
        throw mismatch(value, `struct field jsonPatchOp.${field} of type string`);
    }
  }
}

function invalidJsonResult(result: Json, why: string): StatusError {
  return invalidResult(encodeJson(printableLiterals(result)), why);
}

/** The 422 of Kubernetes for an invalid result, which names no kind. */
function invalidResult(value: string, why: string): StatusError {
  return statusErrors.invalid({ group: '', kind: '' }, '', [fieldErrors.invalid('patch', value, why)]);
}

/** The result of a patch as an object; throws 422 for any other value. */
export function resultObject(patch: PreparedPatch, result: Json): JsonObject {
  if (isJsonObject(result)) return result;
  throw patch.resultError(result, notAnObject(result));
}

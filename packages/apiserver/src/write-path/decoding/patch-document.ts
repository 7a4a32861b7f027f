import {
  type DeepReadonly,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  StatusError,
  applyJsonPatchInSteps,
  applyMergePatchInSteps,
  applyStrategicMergePatchInSteps,
  decodeJsonPatch,
  encodeJson,
  fieldErrors,
  goMap,
  isJsonObject,
  parseJsonInSteps,
  statusErrors,
  unknownJsonPatchFields,
} from '@multiplane/apimachinery';
import type { PatchMeta } from '@multiplane/schema';
import { inSteps } from '../registry/give-way.ts';
import type { FieldValidation } from './strict-decoding.ts';

const jsonPatchType = 'application/json-patch+json';
const mergePatchType = 'application/merge-patch+json';
const strategicPatchType = 'application/strategic-merge-patch+json';
export const applyPatchType = 'application/apply-patch+yaml';

/** A patch whose form was checked once, ready to be applied to one state after the other. */
export interface PreparedPatch {
  /** With pauses. */
  apply(document: DeepReadonly<JsonObject>): Generator<void, Json>;
  /** Texts of strict decoding about the patch itself. */
  readonly strictErrors: readonly string[];
  /** How the error of a result names what was tried (K4.1). */
  resultError(result: Json, why: string): StatusError;
}

/** Which kind of patch a content type means for an endpoint; throws 415 (K4.1). */
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

/** Reads a patch, a big one in steps. Throws 400 for one that is malformed in itself, 413 for too many operations. */
export function preparePatch(
  type: string,
  body: Buffer,
  validation: FieldValidation,
  meta: PatchMeta | undefined,
): PreparedPatch | Promise<PreparedPatch> {
  return inSteps(preparedInSteps(type, body, validation, meta), body.length);
}

function* preparedInSteps(
  type: string,
  body: Buffer,
  validation: FieldValidation,
  meta: PatchMeta | undefined,
): Generator<void, PreparedPatch> {
  let value: Json;
  let duplicates: readonly string[] = [];
  try {
    ({ value, duplicates } = yield* parseJsonInSteps(body, validation !== 'Ignore'));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw statusErrors.badRequest(error.message, error);
    throw error;
  }
  if (type === jsonPatchType) {
    const operations = decodeJsonPatch(value);
    return {
      apply: (document) => applyJsonPatchInSteps(document, value),
      strictErrors: [
        ...duplicates.map((path) => `json patch duplicate field ${JSON.stringify(path)}`),
        ...unknownJsonPatchFields(operations).map((path) => `json patch unknown field ${JSON.stringify(path)}`),
      ],
      resultError: (result, why) => invalidResult(encodeJson(result), why),
    };
  }
  const strictErrors = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  if (type === mergePatchType) {
    return {
      apply: (document) => applyMergePatchInSteps(document, value),
      strictErrors,
      resultError: (result, why) => invalidResult(encodeJson(result), why),
    };
  }
  return {
    apply: (document) => applyStrategicMergePatchInSteps(document, value, meta as PatchMeta),
    strictErrors,
    resultError: (_result, why) => invalidResult(goMap(value), converterText(why)),
  };
}

/** 422 that names no kind (K4.1). */
function invalidResult(value: string, why: string): StatusError {
  return statusErrors.invalid({ group: '', kind: '' }, '', [fieldErrors.invalid('patch', value, why)]);
}

/** A misfit in the words of the converter behind strategic patches, which knows Go's types and no fields. */
function converterText(why: string): string {
  const match = /^json: cannot unmarshal (\w+)( .*)? into .* of type (.*)$/.exec(why);
  if (match === null) return why;
  const [, json, fraction, wanted] = match as unknown as [string, string, string | undefined, string];
  const found = fraction === undefined ? (converterKinds.get(json) ?? json) : 'float64';
  if (wanted.startsWith('map[')) return `cannot restore map from ${found}`;
  if (wanted.startsWith('[]')) return `cannot restore slice from ${found}`;
  return wanted.includes('.') ? `cannot restore struct from: ${found}` : `unrecognized type: ${wanted}`;
}

const converterKinds: ReadonlyMap<string, string> = new Map([
  ['array', 'slice'],
  ['object', 'map'],
  ['number', 'int64'],
]);

/** The result of a patch as an object; anything else fails to decode. */
export function patchedObject(patch: PreparedPatch, result: Json, kind: string): JsonObject {
  if (isJsonObject(result)) return result;
  throw patch.resultError(
    result,
    `json: cannot unmarshal ${Array.isArray(result) ? 'array' : typeof result} into Go value of type ${kind}`,
  );
}

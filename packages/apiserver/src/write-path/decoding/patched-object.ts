import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  type StatusError,
  apiVersionOf,
  asJson,
  compareBytewise,
  takeLiterals,
} from '@multiplane/apimachinery';
import { type Abortable, inTimeSlices } from '../../time-slices.ts';
import { type BodyDecoder, hasVersion } from './body-decoder.ts';
import type { ExpectedKind } from './expected-kind.ts';
import { UnmarshalError } from './object-meta-decoder.ts';
import { type PreparedPatch, resultObject } from './patch-document.ts';
import { shapeIncrementally } from './shape-document.ts';
import { type FieldValidation, strictErrors } from './strict-decoding.ts';

/** What a patch must result in. */
export interface PatchTarget {
  readonly decoder: Pick<BodyDecoder, 'checkPatchedKind'>;
  readonly expected: ExpectedKind;
  readonly validation: FieldValidation;
  /** Receives the errors of strict decoding for `Warn`. */
  readonly warnings: { warn(text: string): void };
  readonly request?: Abortable | undefined;
}

/**
 * Applies a patch to the current object and decodes the result; large patches and objects (`bytes`) in time slices. Throws
 * 422 for a result that does not match its kind.
 */
export function applyPatch(
  target: PatchTarget,
  patch: PreparedPatch,
  current: DeepReadonly<KubeObject>,
  bytes: number,
): KubeObject | Promise<KubeObject> {
  return inTimeSlices(applyIncrementally(target, patch, current), bytes, target.request);
}

function* applyIncrementally(
  { decoder, expected, validation, warnings }: PatchTarget,
  patch: PreparedPatch,
  current: DeepReadonly<KubeObject>,
): Generator<void, KubeObject> {
  const result = yield* patch.apply(asJson(current as KubeObject));
  const document = resultObject(patch, result);
  const details = patch.hasLiterals === true ? takeLiterals(document) : undefined;
  // Decoding works in place, and errors quote what it got.
  function* invalid(why: string): Generator<void, StatusError> {
    return patch.resultError(yield* patch.apply(asJson(current as KubeObject)), why);
  }
  let unknown: readonly string[] = [];
  if (patch.keepsKind !== true) {
    const mismatch = decoder.checkPatchedKind(document, expected);
    if (mismatch !== undefined) throw yield* invalid(mismatch);
    if (expected.origin === 'built-in') unknown = dropFieldsWithoutVersion(document);
  }
  try {
    yield;
    const report = yield* shapeIncrementally(document, expected, { isConverted: patch.keepsKind, details });
    unknown = [...unknown, ...report.unknownFields];
  } catch (error) {
    if (!(error instanceof UnmarshalError)) throw error;
    throw yield* invalid(error.message);
  }
  if (validation !== 'Ignore' && patch.strictErrors.length + unknown.length > 0) {
    const errors = [...patch.strictErrors, ...strictErrors([], unknown, undefined)];
    if (validation === 'Strict') throw yield* invalid(`strict decoding error: ${errors.join(', ')}`);
    for (const text of errors) warnings.warn(text);
  }
  if (patch.keepsKind === true) Object.assign(document, { apiVersion: apiVersionOf(expected), kind: expected.kind });
  return document as unknown as KubeObject;
}

/**
 * After a patch that removes `apiVersion`, the typed decoder of Kubernetes knows no field of the object, `metadata` included:
 * drops all of them, and returns their names.
 */
function dropFieldsWithoutVersion(document: JsonObject): string[] {
  if (hasVersion(document)) return [];
  const dropped = Object.keys(document)
    .filter((key) => key !== 'kind' && key !== 'apiVersion')
    .toSorted(compareBytewise);
  for (const key of dropped) delete document[key];
  return dropped;
}

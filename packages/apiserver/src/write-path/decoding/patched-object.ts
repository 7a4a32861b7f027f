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
import type { RequestWork } from '@multiplane/component-base';
import { type BodyDecoder, hasVersion } from './body-decoder.ts';
import type { ExpectedKind } from './expected-kind.ts';
import { UnmarshalError } from './object-meta-decoder.ts';
import { type PreparedPatch, resultObject } from './patch-document.ts';
import { shapeDocument } from './shape-document.ts';
import { type FieldValidation, strictErrors } from './strict-decoding.ts';

/** What a patch must result in. */
export interface PatchTarget {
  readonly decoder: Pick<BodyDecoder, 'checkPatchedKind'>;
  readonly expected: ExpectedKind;
  readonly validation: FieldValidation;
  /** Receives the errors of strict decoding for `Warn`. */
  readonly warnings: { warn(text: string): void };
  readonly work: RequestWork;
}

/** Applies a patch to the current object and decodes the result. Throws 422 for a result that does not match its kind. */
export async function applyPatch(
  { decoder, expected, validation, warnings, work }: PatchTarget,
  patch: PreparedPatch,
  current: DeepReadonly<KubeObject>,
): Promise<KubeObject> {
  const result = await patch.apply(asJson(current as KubeObject), work);
  await work.pause();
  const document = resultObject(patch, result);
  const details = patch.hasLiterals === true ? takeLiterals(document) : undefined;
  // Decoding works in place, and errors quote what it got.
  const invalid = async (why: string): Promise<StatusError> =>
    patch.resultError(await patch.apply(asJson(current as KubeObject), work), why);
  let unknown: readonly string[] = [];
  if (patch.keepsKind !== true) {
    const mismatch = decoder.checkPatchedKind(document, expected);
    if (mismatch !== undefined) throw await invalid(mismatch);
    if (expected.origin === 'built-in') unknown = dropFieldsWithoutVersion(document);
  }
  try {
    await work.pause();
    const report = await shapeDocument(document, expected, work, { isConverted: patch.keepsKind, details });
    unknown = [...unknown, ...report.unknownFields];
  } catch (error) {
    if (!(error instanceof UnmarshalError)) throw error;
    throw await invalid(error.message);
  }
  if (validation !== 'Ignore' && patch.strictErrors.length + unknown.length > 0) {
    const errors = [...patch.strictErrors, ...strictErrors([], unknown, undefined)];
    if (validation === 'Strict') throw await invalid(`strict decoding error: ${errors.join(', ')}`);
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

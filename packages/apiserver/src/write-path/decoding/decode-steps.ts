import { type KubeObject, type WriteOptions, statusErrors } from '@multiplane/apimachinery';
import { groupResourceOf } from '../../registry/definitions/group-resource.ts';
import type { FieldManager } from '../../registry/managed-fields/field-manager.ts';
import type { DecodeStep } from '../decode-step.ts';
import type { WriteRequest } from '../write-request.ts';
import { type ApplyDocument, applyDocument } from './apply-configuration.ts';
import type { BodyDecoder } from './body-decoder.ts';
import { checkName, checkNamespace } from './object-identity.ts';
import type { PreparedPatch } from './patch-document.ts';
import { applyPatch } from './patched-object.ts';
import type { RequestBody } from './request-body.ts';
import type { FieldValidation } from './strict-decoding.ts';

/** The decode step of a PUT. `first` is the object that was decoded from the body to check the request. */
export function putStep(decoder: BodyDecoder, write: WriteRequest, body: RequestBody, first: KubeObject): DecodeStep {
  let unused: KubeObject | undefined = first;
  return async () => {
    // The write path modifies the object. A retry decodes the body again: conflicts are rare, a copy for each write is not.
    const object = unused ?? (await decoder.decodeBody(body, write, write.definition, 'Ignore'));
    unused = undefined;
    checkNamespace(write, object);
    return object;
  };
}

/** The decode step of a PATCH other than apply. Strict errors of a patch are reported as warnings once, not for each attempt. */
export function patchStep(
  decoder: Pick<BodyDecoder, 'checkPatchedKind'>,
  write: WriteRequest,
  patch: PreparedPatch,
  validation: FieldValidation,
): DecodeStep {
  let remaining = validation;
  return async (current) => {
    const { definition } = write;
    if (current === undefined) throw statusErrors.notFound(groupResourceOf(definition), write.name);
    const target = { decoder, expected: definition, validation: remaining, warnings: write, work: write.work };
    const object = await applyPatch(target, patch, current);
    if (remaining === 'Warn') remaining = 'Ignore';
    checkNamespace(write, object);
    checkName(write, object);
    return object;
  };
}

/** The decode step of a server-side apply; it sets managedFields. */
export function applyStep(
  fields: FieldManager,
  write: WriteRequest,
  document: ApplyDocument,
  options: Pick<WriteOptions, 'force'> & { readonly fieldValidation: FieldValidation },
): DecodeStep {
  let { fieldValidation } = options;
  return async (current) => {
    const { force } = options;
    const object = await applyDocument(fields, write, write.definition, document, current, { force, fieldValidation });
    if (fieldValidation === 'Warn') fieldValidation = 'Ignore';
    checkNamespace(write, object);
    checkName(write, object);
    return object;
  };
}

import { type StatusError, decodeWriteOptions, isStatusError } from '@multiplane/apimachinery';
import type { Negotiated } from '@multiplane/generic-server';
import { yieldAfterBody } from '../time-slices.ts';
import { readApplyDocument } from '../write-path/decoding/apply-configuration.ts';
import { applyStep, patchStep } from '../write-path/decoding/decode-steps.ts';
import { applyPatchType, patchTypeOf, preparePatch } from '../write-path/decoding/patch-document.ts';
import type { DecodeStep } from '../write-path/decode-step.ts';
import { contentTypeOf, maxBodyBytes } from '../write-path/decoding/request-body.ts';
import { checkCreateAllowed } from './create-authorization.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';
import { type WriteModules, respondWriteResult } from './write-endpoints.ts';

/** PATCH of an object or a subresource. */
export async function patchEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const patchMeta = definition.origin === 'built-in' ? definition.schema.patchMeta : definition.native?.patchMeta;
  const type = patchTypeOf(contentTypeOf(context), definition.origin, patchMeta !== undefined);
  if (type === applyPatchType) return applyEndpoint(modules, request, negotiated);
  const options = decodeWriteOptions(context.info.query, 'PatchOptions');
  const body = await context.exchange.readBody(maxBodyBytes);
  await yieldAfterBody(body.length, context);
  const recorded = context.audit?.requestPatch(body);
  if (recorded !== undefined) await recorded;
  const patch = await preparePatch(type, body, {
    validation: options.fieldValidation,
    meta: patchMeta,
    work: context.work,
  });

  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  const step = patchStep(modules.decoder, write, patch, options.fieldValidation);
  const result = await modules.store.update(write, step);
  await respondWriteResult(modules, request, negotiated, result);
}

/** Server-side apply to an object or a subresource. A missing object is created; a subresource of one is NotFound. */
async function applyEndpoint(modules: WriteModules, request: ResourceRequest, negotiated: Negotiated): Promise<void> {
  const { context } = request;
  const options = decodeWriteOptions(context.info.query, 'PatchOptions', true);
  const document = await readApplyDocument(modules.decoder, context).catch(notBefore404);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  const step = isStatusError(document)
    ? refuse(document)
    : applyStep(modules.store.modules.fields, write, document, options);
  const result = await modules.store.update(write, step, {
    forceCreate: request.subresource === '' || createsOnApply(request),
    authorizeCreate: () => checkCreateAllowed(modules, request),
    setsManagedFields: true,
    isApply: true,
  });
  await respondWriteResult(modules, request, negotiated, result);
}

/** Of a subresource the object is read before the configuration, so that a missing object is a 404 whatever was sent. */
function notBefore404(error: unknown): StatusError {
  if (isStatusError(error, 'BadRequest')) return error;
  throw error;
}

const refuse =
  (error: StatusError): DecodeStep =>
  () => {
    throw error;
  };

function createsOnApply({ definition, subresource }: ResourceRequest): boolean {
  const part = definition.subresources[subresource];
  return part?.type === 'object' && part.createsOnApply === true;
}

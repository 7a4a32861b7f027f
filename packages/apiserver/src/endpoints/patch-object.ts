import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  asJson,
  decodeWriteOptions,
  statusErrors,
} from '@multiplane/apimachinery';
import { bodyTurn, giveWay, inSteps } from '../registry/give-way.ts';
import { dropDuplicateOwners } from '../registry/object-metadata.ts';
import type { RequestContext } from '../request-context.ts';
import { applyDocument, readApplyDocument } from './apply-object.ts';
import { type BodyDecoder, type ExpectedKind, contentTypeOf, maxBodyBytes } from './body-decoder.ts';
import { checkCreateAllowed } from './create-authorization.ts';
import type { Negotiated } from './negotiation.ts';
import { UnmarshalError } from './object-meta-decoder.ts';
import { checkObjectTransform } from './object-response.ts';
import { type PreparedPatch, applyPatchType, patchTypeOf, patchedObject, preparePatch } from './patch-document.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';
import { type FieldValidation, strictErrors } from './strict-decoding.ts';
import {
  type WriteModules,
  admitManaged,
  admitUpdate,
  checkName,
  checkNamespace,
  respondWritten,
} from './write-object.ts';

/** PATCH of an object or one of its parts (K4.1): applied to the current state, again after every lost race. */
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
  checkObjectTransform(definition, negotiated, context);
  const body = await context.exchange.readBody(maxBodyBytes);
  await bodyTurn(body.length);
  context.audit?.requestPatch(body);
  const patch = await preparePatch(type, body, options.fieldValidation, patchMeta);
  await giveWay(body.length);

  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  let validation: FieldValidation = options.fieldValidation;
  const patched = async (current: DeepReadonly<KubeObject> | undefined, bytes: number): Promise<KubeObject> => {
    if (current === undefined)
      throw statusErrors.notFound({ group: definition.group, resource: definition.resource }, request.name);
    const object = await applyPatch(
      modules.decoder,
      { context, expected: definition, validation },
      patch,
      current,
      bytes,
    );
    // Warned of once is enough: later attempts apply the same patch.
    validation = validation === 'Strict' ? 'Strict' : 'Ignore';
    checkName(request, object);
    checkNamespace(request, object);
    await admitUpdate(modules.store, write, object, current, bytes);
    return object;
  };
  const written = await modules.store.update(write, patched, { bytes: body.length });
  respondWritten(modules, request, negotiated, written);
}

/** Server-side apply to an object or one of its parts (K4.5); a missing object is created, a missing part is not. */
async function applyEndpoint(modules: WriteModules, request: ResourceRequest, negotiated: Negotiated): Promise<void> {
  const { context, definition } = request;
  const options = decodeWriteOptions(context.info.query, 'PatchOptions', true);
  checkObjectTransform(definition, negotiated, context);
  const document = await readApplyDocument(modules.decoder, context);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  let { fieldValidation } = options;
  const written = await modules.store.update(
    write,
    async (current, bytes) => {
      const object = await applyDocument(modules, write, definition, { ...document, bytes }, current, {
        ...options,
        fieldValidation,
      });
      if (fieldValidation === 'Warn') fieldValidation = 'Ignore';
      checkName(request, object);
      checkNamespace(request, object);
      dropDuplicateOwners(object, write, 'request');
      await admitManaged(modules.store, write, object, current);
      return object;
    },
    {
      forceCreate: request.subresource === '',
      authorizeCreate: () => checkCreateAllowed(modules, request),
      applies: true,
      bytes: document.bytes,
    },
  );
  respondWritten(modules, request, negotiated, written);
}

/** What a patch is to result in. */
export interface PatchWish {
  readonly context: Pick<RequestContext, 'warn'>;
  readonly expected: ExpectedKind;
  readonly validation: FieldValidation;
}

/**
 * The patched and decoded object; of something big (`bytes`: patch or object) in steps. Throws 422 for a result that is
 * none of its kind.
 */
export function applyPatch(
  decoder: BodyDecoder,
  wish: PatchWish,
  patch: PreparedPatch,
  current: DeepReadonly<KubeObject>,
  bytes: number,
): KubeObject | Promise<KubeObject> {
  return inSteps(patchInSteps(decoder, wish, patch, current), bytes);
}

function* patchInSteps(
  decoder: BodyDecoder,
  { context, expected, validation }: PatchWish,
  patch: PreparedPatch,
  current: DeepReadonly<KubeObject>,
): Generator<void, KubeObject> {
  const result = yield* patch.apply(asJson(current as KubeObject));
  const document = patchedObject(patch, result, expected.kind);
  if (expected.origin === 'built-in') checkBuiltInIdentity(document, context, validation);
  let unknown: readonly string[];
  try {
    yield;
    unknown = yield* decoder.shapeInSteps(document, expected);
  } catch (error) {
    if (!(error instanceof UnmarshalError)) throw error;
    throw patch.resultError(result, error.message);
  }
  if (validation !== 'Ignore' && patch.strictErrors.length + unknown.length > 0) {
    const errors = [...patch.strictErrors, ...strictErrors([], unknown, undefined)];
    if (validation === 'Strict') throw patch.resultError(result, `strict decoding error: ${errors.join(', ')}`);
    for (const text of errors) context.warn(text);
  }
  return document as unknown as KubeObject;
}

/**
 * A patch that takes away what an object says it is leaves something that no decoder recognises: all its fields are
 * unknown, its name among them (recorded from the reference).
 */
function checkBuiltInIdentity(
  document: JsonObject,
  context: Pick<RequestContext, 'warn'>,
  validation: FieldValidation,
): void {
  if (typeof document['kind'] === 'string' && document['kind'] !== '') return;
  for (const key of Object.keys(document)) {
    if (key === 'kind' || key === 'apiVersion') continue;
    if (validation !== 'Ignore') context.warn(`unknown field ${JSON.stringify(key)}`);
    delete document[key];
  }
}

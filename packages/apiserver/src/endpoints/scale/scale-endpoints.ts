import {
  type DeepReadonly,
  type KubeObject,
  asJson,
  decodeWriteOptions,
  deepCopy,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ScaleSubresource } from '@multiplane/apis';
import type { Negotiated } from '@multiplane/generic-server';
import { groupResourceOf } from '../../registry/definitions/group-resource.ts';
import type { ScaleManagedFields } from '../../registry/managed-fields/scale-managed-fields.ts';
import { applyDocument, readApplyDocument } from '../../write-path/decoding/apply-configuration.ts';
import { checkName, checkNamespace } from '../../write-path/decoding/object-identity.ts';
import { applyPatchType, patchTypeOf, preparePatch } from '../../write-path/decoding/patch-document.ts';
import { applyPatch } from '../../write-path/decoding/patched-object.ts';
import { contentTypeOf, maxBodyBytes } from '../../write-path/decoding/request-body.ts';
import type { FieldValidation } from '../../write-path/decoding/strict-decoding.ts';
import { type ReadModules, readEntry } from '../read-endpoints.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from '../resource-request.ts';
import { checkTransform, writeTyped } from '../response/object-response.ts';
import type { WriteModules } from '../write-endpoints.ts';
import { scaleKind } from './scale-kind.ts';
import { scaleOf, setReplicas, updatableScaleOf } from './scale-object.ts';

/** GET of `/scale`: replicas and selector of the object, by the paths in its definition. */
export async function getScaleEndpoint(
  modules: ReadModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  const { definition, context } = request;
  const entry = await readEntry(modules, request);
  const object = await modules.store.modules.reader.read(definition, entry, context);
  respondScale(request, negotiated, scaleOf(part, object));
}

/** PUT of `/scale`: only the replicas can be changed; an absent resourceVersion matches any. */
export async function updateScaleEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  const { context } = request;
  const options = decodeWriteOptions(context.info.query, 'UpdateOptions');
  const body = await modules.decoder.readBody(context);
  const scale = await modules.decoder.decodeBody(body, context, scaleKind, options.fieldValidation);
  checkNamespace(request, scale);
  checkName(request, scale);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('UpdateOptions', options));
  await writeScale(modules, write, request, part, negotiated, async (_current, live, fields) => {
    // The field manager modifies the object, so each attempt starts from a copy of the decoded one.
    const sent = deepCopy(asJson(scale)) as unknown as KubeObject;
    await modules.store.modules.fields.update(fields.write, live, sent);
    return sent;
  });
}

/** PATCH of `/scale`: the patch is applied to the Scale, not to the object. */
export async function patchScaleEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  const { context } = request;
  const type = patchTypeOf(contentTypeOf(context), request.definition.origin, false);
  if (type === applyPatchType) return applyScaleEndpoint(modules, request, part, negotiated);
  const options = decodeWriteOptions(context.info.query, 'PatchOptions');
  const body = await context.exchange.readBody(maxBodyBytes);
  const patch = await preparePatch(type, body, {
    validation: options.fieldValidation,
    meta: undefined,
    work: context.work,
  });
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  let validation: FieldValidation = options.fieldValidation;
  await writeScale(modules, write, request, part, negotiated, async (current, live, fields) => {
    const target = { decoder: modules.decoder, expected: scaleKind, validation, warnings: context, work: context.work };
    const scale = await applyPatch(target, patch, updatableScaleOf(part, current));
    if (validation === 'Warn') validation = 'Ignore';
    checkNamespace(request, scale);
    checkName(request, scale);
    await modules.store.modules.fields.update(fields.write, live, scale);
    return scale;
  });
}

/** Server-side apply of a Scale to `/scale`; its managers are mapped to those of the object. */
async function applyScaleEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  const { context } = request;
  const options = decodeWriteOptions(context.info.query, 'PatchOptions', true);
  const document = await readApplyDocument(modules.decoder, context);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  await writeScale(modules, write, request, part, negotiated, async (_current, live, fields) => {
    const scaleWrite = { ...fields.write, name: write.name, warn: (text: string) => write.warn(text) };
    const scale = await applyDocument(modules.store.modules.fields, scaleWrite, scaleKind, document, live, options);
    checkNamespace(request, scale);
    checkName(request, scale);
    return scale;
  });
}

/** Runs the write path on the object of a Scale. */
async function writeScale(
  modules: WriteModules,
  write: HttpWriteRequest,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
  /** Returns the new Scale with its managedFields, given the object and its current Scale. */
  scaleFrom: (current: DeepReadonly<KubeObject>, live: KubeObject, fields: ScaleManagedFields) => Promise<KubeObject>,
): Promise<void> {
  const decode = async (current: DeepReadonly<KubeObject> | undefined): Promise<KubeObject> => {
    if (current === undefined) throw statusErrors.notFound(groupResourceOf(request.definition), request.name);
    const fields = modules.store.modules.fields.scale(write, current);
    const live = updatableScaleOf(part, current);
    live.metadata.managedFields = [...fields.entries];
    const scale = await scaleFrom(current, live, fields);
    const object = deepCopy(asJson(current as KubeObject)) as unknown as KubeObject;
    setReplicas(part, object, scale);
    const { resourceVersion, uid } = scale.metadata;
    if ((resourceVersion ?? '') !== '') object.metadata.resourceVersion = resourceVersion as string;
    if ((uid ?? '') !== '') object.metadata.uid = uid as string;
    object.metadata.managedFields = fields.toParent(scale.metadata.managedFields);
    return object;
  };
  const result = await modules.store.update(write, decode, { setsManagedFields: true });
  respondScale(request, negotiated, scaleOf(part, result.object));
}

function respondScale({ context }: ResourceRequest, negotiated: Negotiated, scale: KubeObject): void {
  checkTransform(negotiated, context, () => '*autoscaling.Scale');
  writeTyped(context, 200, scale, negotiated);
}

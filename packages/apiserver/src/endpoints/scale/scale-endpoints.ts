import {
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  asJson,
  decodeWriteOptions,
  deepCopy,
  isJsonObject,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ScaleSubresource } from '@multiplane/apis';
import { type ExpectedKind, contentTypeOf, maxBodyBytes } from './body-decoder.ts';
import { applyDocument, readApplyDocument } from './apply-object.ts';
import type { ScaleFields } from '../registry/scale-fields.ts';
import { scaleOf, setReplicas } from '../registry/scale-view.ts';
import type { Negotiated } from './negotiation.ts';
import { UnmarshalError, jsonType } from './object-meta-decoder.ts';
import { checkObjectTransform, writeTyped } from './object-response.ts';
import { applyPatch } from './patch-object.ts';
import { applyPatchType, patchTypeOf, preparePatch } from './patch-document.ts';
import { type ReadModules, readEntry } from './read-object.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';
import type { FieldValidation } from './strict-decoding.ts';
import { type WriteModules, admitManaged, checkName, checkNamespace } from './write-object.ts';

/** GET of `/scale` (K5.10): replicas and selector, read off the object by the paths of its definition. */
export async function getScaleEndpoint(
  modules: ReadModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  checkObjectTransform(request.definition, negotiated, request.context);
  const { definition, context } = request;
  const entry = await readEntry(modules, request);
  const object = await modules.store.modules.reader.read(definition, entry, context);
  respondScale(request, negotiated, scaleOf(part, object));
}

/** PUT of `/scale`: replicas are all that can be written; an absent resourceVersion means any. */
export async function updateScaleEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  const { context } = request;
  const options = decodeWriteOptions(context.info.query, 'UpdateOptions');
  checkObjectTransform(request.definition, negotiated, context);
  const body = await modules.decoder.readBody(context);
  const scale = await modules.decoder.decodeBody(body, context, scaleKind, options.fieldValidation);
  checkName(request, scale);
  checkNamespace(request, scale);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('UpdateOptions', options));
  await writeScale(modules, write, request, part, negotiated, async (_current, live, fields) => {
    // Each attempt starts from what was sent: ownership is written into it.
    const sent = deepCopy(asJson(scale)) as unknown as KubeObject;
    await modules.store.modules.fields.update(fields.write, live, sent);
    return sent;
  });
}

/** PATCH of `/scale`: applied to the Scale, not to the object. */
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
  checkObjectTransform(request.definition, negotiated, context);
  const body = await context.exchange.readBody(maxBodyBytes);
  const patch = await preparePatch(type, body, options.fieldValidation, undefined);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  let validation: FieldValidation = options.fieldValidation;
  await writeScale(modules, write, request, part, negotiated, async (current, live, fields) => {
    const wish = { context, expected: scaleKind, validation };
    const scale = await applyPatch(modules.decoder, wish, patch, scaleOf(part, current), body.length);
    validation = validation === 'Strict' ? 'Strict' : 'Ignore';
    checkName(request, scale);
    checkNamespace(request, scale);
    await modules.store.modules.fields.update(fields.write, live, scale);
    return scale;
  });
}

/** Server-side apply to `/scale`: of a Scale, with owners of its own (K4.8). */
async function applyScaleEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
): Promise<void> {
  const { context } = request;
  const options = decodeWriteOptions(context.info.query, 'PatchOptions', true);
  checkObjectTransform(request.definition, negotiated, context);
  const document = await readApplyDocument(modules.decoder, context);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('PatchOptions', options));
  await writeScale(modules, write, request, part, negotiated, async (_current, live, fields) => {
    const scaleWrite = { ...fields.write, warn: (text: string) => write.warn(text) };
    const scale = await applyDocument(modules, scaleWrite, scaleKind, document, live, options);
    checkName(request, scale);
    checkNamespace(request, scale);
    return scale;
  });
}

async function writeScale(
  modules: WriteModules,
  write: HttpWriteRequest,
  request: ResourceRequest,
  part: ScaleSubresource,
  negotiated: Negotiated,
  /** Makes the new Scale, its managedFields included, from the object and its Scale. */
  scaleFrom: (current: DeepReadonly<KubeObject>, live: KubeObject, fields: ScaleFields) => Promise<KubeObject>,
): Promise<void> {
  const { definition } = request;
  const written = await modules.store.update(write, async (current) => {
    if (current === undefined)
      throw statusErrors.notFound({ group: definition.group, resource: definition.resource }, request.name);
    const fields = modules.store.modules.fields.scale(write, current);
    const live = scaleOf(part, current);
    live.metadata.managedFields = [...fields.entries];
    const scale = await scaleFrom(current, live, fields);
    const object = deepCopy(asJson(current as KubeObject)) as unknown as KubeObject;
    setReplicas(part, object, scale);
    const { resourceVersion, uid } = scale.metadata;
    if ((resourceVersion ?? '') !== '') object.metadata.resourceVersion = resourceVersion as string;
    if ((uid ?? '') !== '') object.metadata.uid = uid as string;
    object.metadata.managedFields = fields.toObject(scale.metadata.managedFields);
    await admitManaged(modules.store, write, object, current);
    return object;
  });
  respondScale(request, negotiated, scaleOf(part, written.object));
}

function respondScale({ context }: ResourceRequest, negotiated: Negotiated, scale: KubeObject): void {
  writeTyped(context, 200, scale, negotiated);
}

const scaleFields: Readonly<Record<string, Readonly<Record<string, 'int32' | 'string'>>>> = {
  spec: { replicas: 'int32' },
  status: { replicas: 'int32', selector: 'string' },
};

/** Scale has no schema document of its own: two small structs. */
const scaleKind: ExpectedKind = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  origin: 'built-in',
  schema: {
    decodeTyped(object) {
      for (const [part, fields] of Object.entries(scaleFields)) {
        const value = object[part];
        if (value === undefined) continue;
        if (value === null) {
          delete object[part];
          continue;
        }
        if (!isJsonObject(value)) throw mismatch(value, part, part === 'spec' ? 'v1.ScaleSpec' : 'v1.ScaleStatus');
        for (const [field, type] of Object.entries(fields)) {
          const inner = value[field];
          if (inner === undefined) continue;
          if (inner === null) delete value[field];
          else if (type === 'string' ? typeof inner !== 'string' : !isInt32(inner))
            throw mismatch(inner, `${part}.${field}`, type);
        }
      }
    },
    *decodeInSteps(object) {
      yield;
      this.decodeTyped(object);
    },
    prune(object) {
      const unknownFields: string[] = [];
      for (const key of Object.keys(object)) {
        if (key === 'kind' || key === 'apiVersion' || key === 'metadata') continue;
        const known = scaleFields[key];
        const value = object[key];
        if (known === undefined) {
          unknownFields.push(key);
          delete object[key];
        } else if (isJsonObject(value ?? null)) {
          for (const field of Object.keys(value as JsonObject)) {
            if (Object.hasOwn(known, field)) continue;
            unknownFields.push(`${key}.${field}`);
            delete (value as JsonObject)[field];
          }
        }
      }
      return { unknownFields };
    },
    applyDefaults: () => undefined,
  },
};

function isInt32(value: Json): boolean {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 0x7fffffff;
}

function mismatch(value: Json, path: string, type: string): UnmarshalError {
  return new UnmarshalError(
    `json: cannot unmarshal ${jsonType(value)} into Go struct field Scale.${path} of type ${type}`,
  );
}

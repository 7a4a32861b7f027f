import { decodeListOptions, decodeWriteOptions, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  type BodyDecoder,
  checkName,
  checkNamespace,
  contentTypeOf,
  type ExpectedKind,
  readDeleteOptions,
  type ResourceRequest,
} from '@multiplane/apiserver';
import { type EndpointKind, endpointKinds, negotiate } from '@multiplane/generic-server';

const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
const strategicType = 'application/strategic-merge-patch+json';

/** A kind of Kubernetes, whose fields only the shard checks. */
const unknownSchema: ExpectedKind['schema'] = {
  decodeTyped: () => undefined,
  convertTyped: () => undefined,
  prune: () => ({ unknownFields: [] }),
  coerce: () => undefined,
  applyDefaults: () => undefined,
};

export interface RequestCheckOptions {
  /** False: fields are not checked; absent: against the schema of the definition. */
  readonly hasSchema?: boolean | undefined;
  /** The body of the request, if it was read before. */
  readonly body?: Buffer | undefined;
}

/**
 * Throws what a request is refused with before its object is looked for: the order of k8s.io/apiserver's handlers, which kcp's
 * virtual workspaces use for every kind as for custom resources (`dynamic/apiserver/handler.go`). The shard reports the same when a
 * request is forwarded, so this is for requests that end here. Reads the body of writes, except of patches.
 */
export async function checkRequest(
  request: ResourceRequest,
  decoder: BodyDecoder,
  { hasSchema = true, body }: RequestCheckOptions = {},
): Promise<void> {
  const { context, definition } = request;
  const { verb, query } = context.info;
  if (verb === 'patch') checkPatchType(contentTypeOf(context), definition);
  negotiate(context, endpointKind(verb, definition));
  if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') decodeListOptions(query, verb === 'watch');
  if (verb === 'delete' || verb === 'deletecollection') await readDeleteOptions(decoder, context);
  if (verb !== 'create' && verb !== 'update') return;
  const { fieldValidation } = decodeWriteOptions(query, verb === 'create' ? 'CreateOptions' : 'UpdateOptions');
  const expected = expectedKind(definition, hasSchema);
  const object = await decoder.decodeBody(await decoder.readBody(context, body), context, expected, fieldValidation);
  checkNamespace(request, object);
  if (verb === 'update') checkName(request, object);
}

function expectedKind(definition: ResourceDefinition, hasSchema: boolean): ExpectedKind {
  const { group, version, kind } = definition;
  const schema = definition.origin === 'built-in' || !hasSchema ? unknownSchema : definition.schema;
  return { group, version, kind, origin: 'custom', schema };
}

/** The shard encodes built-in kinds also as protobuf. */
function endpointKind(verb: string, { origin }: ResourceDefinition): EndpointKind {
  const kind = origin === 'built-in' ? 'native' : 'custom';
  if (verb === 'watch') return endpointKinds[`${kind}Watch`];
  return verb === 'list' || verb === 'deletecollection' ? endpointKinds[`${kind}List`] : endpointKinds[`${kind}Object`];
}

function checkPatchType(type: string, { origin }: ResourceDefinition): void {
  const accepted = origin === 'built-in' ? [...patchTypes, strategicType] : patchTypes;
  if (!accepted.includes(type)) throw statusErrors.unsupportedMediaType(accepted);
}

import { decodeDeleteQuery, decodeWriteOptions, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { contentTypeOf, type BodyDecoder, type ExpectedKind, type ResourceRequest } from '@multiplane/apiserver';

const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
const strategicType = 'application/strategic-merge-patch+json';

/** A kind of Kubernetes, whose fields only the shard checks. */
const unknownSchema: ExpectedKind['schema'] = {
  decodeTyped: () => undefined,
  // eslint-disable-next-line require-yield
  *decodeIncrementally() {
    return undefined;
  },
  convertTyped: () => undefined,
  prune: () => ({ unknownFields: [] }),
  coerce: () => undefined,
  applyDefaults: () => undefined,
};

/**
 * Throws what a write is refused with before its object is looked for: the order of k8s.io/apiserver's handlers, which kcp's
 * virtual workspaces use for every kind as for custom resources (`dynamic/apiserver/handler.go`). The shard reports the same when a
 * request is forwarded, so this is for requests that end here. Reads the body of creates and updates.
 */
export async function checkRequest(
  { context, definition }: Pick<ResourceRequest, 'context' | 'definition'>,
  decoder: BodyDecoder,
): Promise<void> {
  const { verb, query } = context.info;
  if (verb === 'patch') return checkPatchType(contentTypeOf(context), definition);
  if (verb === 'delete') {
    decodeDeleteQuery(query);
    return;
  }
  if (verb !== 'create' && verb !== 'update') return;
  const { fieldValidation } = decodeWriteOptions(query, verb === 'create' ? 'CreateOptions' : 'UpdateOptions');
  const { group, version, kind } = definition;
  const schema = definition.origin === 'built-in' ? unknownSchema : definition.schema;
  await decoder.decode(context, { group, version, kind, origin: 'custom', schema }, fieldValidation);
}

function checkPatchType(type: string, { origin }: ResourceDefinition): void {
  const accepted = origin === 'built-in' ? [...patchTypes, strategicType] : patchTypes;
  if (!accepted.includes(type)) throw statusErrors.unsupportedMediaType(accepted);
}

import { type LogicalClusterName, decodeWriteOptions } from '@multiplane/apimachinery';
import type { ConnectSubresource } from '@multiplane/apis';
import { admissionAttributes } from '../registry/write-request.ts';
import { wipeServerOwned } from '../registry/object-metadata.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { BodyDecoder, ExpectedKind } from './body-decoder.ts';
import type { CreateHandler } from './create-handler.ts';
import type { Negotiated } from './negotiation.ts';
import { writeTyped } from './object-response.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';
import { checkNamespace } from './write-object.ts';

export interface ReviewModules {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  /** Schemas of kinds that exist only as bodies of subresources (`TokenRequest`). */
  readonly connectKind: (part: ConnectSubresource) => ExpectedKind;
}

/**
 * POST that is answered by code and never stored: reviews, `serviceaccounts/token`. 201 with the filled-in object (K1.5).
 * A subresource goes through admission as any create does (K6.1), under the name of its parent; no plugin has a say about
 * reviews.
 */
export async function reviewEndpoint(
  modules: ReviewModules,
  request: ResourceRequest,
  negotiated: Negotiated,
  handler: CreateHandler,
): Promise<void> {
  const { context, definition, subresource, namespace, name } = request;
  const options = decodeWriteOptions(context.info.query, 'CreateOptions');
  const part = subresource === '' ? undefined : definition.subresources[subresource];
  const expected = part?.type === 'connect' ? modules.connectKind(part) : definition;
  const object = await modules.decoder.decode(context, expected, options.fieldValidation);
  // A token request keeps its uid: it is the uid of the service account that is meant (K2.1).
  if (part === undefined) wipeServerOwned(object.metadata);
  checkNamespace(request, object);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('CreateOptions', options));
  const { admission, fields } = modules.store.modules;
  let admit = async (): Promise<void> => undefined;
  if (part === undefined) {
    // Reviews are never stored, but refusals print them as they stand.
    await fields.update(write, undefined, object);
  } else {
    const attributes = admissionAttributes(write, 'CREATE', name, object, undefined);
    await admission.admit(attributes);
    admit = async () => admission.validate(attributes);
  }
  const answer = await handler({
    context,
    definition,
    cluster: request.cluster as LogicalClusterName,
    namespace,
    name,
    object,
    dryRun: options.dryRun,
    admit,
  });
  writeTyped(context, 201, answer, negotiated);
}

import { type LogicalClusterName, decodeWriteOptions } from '@multiplane/apimachinery';
import type { ConnectSubresource } from '@multiplane/apis';
import type { Negotiated } from '@multiplane/generic-server';
import type { ObjectStore } from '../registry/object-store.ts';
import { admitManaged, admitValidating } from '../write-path/admission-steps.ts';
import type { BodyDecoder } from '../write-path/decoding/body-decoder.ts';
import type { ExpectedKind } from '../write-path/decoding/expected-kind.ts';
import { checkNamespace } from '../write-path/decoding/object-identity.ts';
import { wipeServerOwned } from '../write-path/object-metadata.ts';
import type { CreateHandler } from './create-handler.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';
import { isLarge } from '../time-slices.ts';
import { writeLargeTyped, writeTyped } from './response/object-response.ts';

export interface ReviewModules {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  /** The kind of a connect subresource's body (`TokenRequest`). */
  readonly connectKind: (part: ConnectSubresource) => ExpectedKind;
}

/**
 * POST of an object that a handler answers and that is never stored: reviews, and connect subresources such as
 * `serviceaccounts/token`. Responds with 201 and the completed object. Connect subresources run through admission as
 * creates under the name of their parent; reviews do not run through admission.
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
  const body = await modules.decoder.readBody(context);
  const bytes = body.bytes.length;
  const object = await modules.decoder.decodeBody(body, context, expected, options.fieldValidation);
  // A TokenRequest keeps its uid, which is a precondition on the uid of the service account.
  if (part === undefined) wipeServerOwned(object.metadata);
  checkNamespace(request, object);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('CreateOptions', options));
  let admit = async (): Promise<void> => undefined;
  if (part === undefined) {
    // Reviews are not stored, but the messages of rejections quote them with their managedFields.
    await modules.store.modules.fields.update(write, undefined, object);
  } else {
    await admitManaged(modules.store.modules, write, object, undefined);
    admit = async () => admitValidating(modules.store.modules, write, name, object, undefined);
  }
  const completed = await handler({
    context,
    definition,
    cluster: request.cluster as LogicalClusterName,
    namespace,
    name,
    object,
    dryRun: options.dryRun,
    admit,
  });
  if (isLarge(bytes)) await writeLargeTyped(context, 201, completed, negotiated, bytes);
  else writeTyped(context, 201, completed, negotiated);
}

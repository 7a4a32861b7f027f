import { decodeWriteOptions } from '@multiplane/apimachinery';
import type { Negotiated } from '@multiplane/generic-server';
import type { ObjectStore } from '../registry/object-store.ts';
import type { BodyDecoder } from '../write-path/decoding/body-decoder.ts';
import { putStep } from '../write-path/decoding/decode-steps.ts';
import { checkName, checkNamespace } from '../write-path/decoding/object-identity.ts';
import { dropDuplicateOwners } from '../write-path/object-metadata.ts';
import type { WriteResult } from '../write-path/write-result.ts';
import { type CreateAuthorization, checkCreateAllowed } from './create-authorization.ts';
import { type CreateOutcomes, respondOutcome } from './create-outcome.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';
import { respondObject } from './response/object-response.ts';

export interface WriteModules extends CreateAuthorization {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  readonly now: () => Date;
  /** Outcomes of creates that a client can wait for with `Prefer: wait`; absent: none. */
  readonly outcomes?: CreateOutcomes | undefined;
}

/** POST to a collection. */
export async function createEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = decodeWriteOptions(context.info.query, 'CreateOptions');
  const body = await modules.decoder.readBody(context);
  const object = await modules.decoder.decodeBody(body, context, definition, options.fieldValidation);
  const recorded = context.audit?.requestObject(object, body.bytes.length);
  if (recorded !== undefined) await recorded;
  checkNamespace(request, object);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('CreateOptions', options));
  const result = await modules.store.create(write, object);
  const waits = context.exchange.headers['prefer'] !== undefined && !options.dryRun;
  if (waits && (await respondOutcome(modules, request, negotiated, result))) return;
  await respondWriteResult(modules, request, negotiated, result);
}

/** PUT of an object or a subresource. */
export async function updateEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = decodeWriteOptions(context.info.query, 'UpdateOptions');
  const body = await modules.decoder.readBody(context);
  const object = await modules.decoder.decodeBody(body, context, definition, options.fieldValidation);
  const recorded = context.audit?.requestObject(object, body.bytes.length);
  if (recorded !== undefined) await recorded;
  checkNamespace(request, object);
  checkName(request, object);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('UpdateOptions', options));
  dropDuplicateOwners(object, write, 'request');
  const result = await modules.store.update(write, putStep(modules.decoder, write, body, object), {
    expectedUid: object.metadata.uid,
    authorizeCreate: () => checkCreateAllowed(modules, request),
  });
  await respondWriteResult(modules, request, negotiated, result);
}

/** Responds with 201 for a created object, 200 for an existing one. */
export function respondWriteResult(
  modules: Pick<WriteModules, 'now'>,
  request: ResourceRequest,
  negotiated: Negotiated,
  result: WriteResult,
): Promise<void> | undefined {
  return respondObject(
    request.context,
    request.definition,
    negotiated,
    result.created ? 201 : 200,
    { object: () => result.object, bytes: result.bytes, revision: result.revision, size: result.size },
    modules.now(),
  );
}

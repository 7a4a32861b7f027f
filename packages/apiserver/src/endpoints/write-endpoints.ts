import { type DeepReadonly, type KubeObject, decodeWriteOptions, statusErrors } from '@multiplane/apimachinery';
import { admissionAttributes } from '../registry/write-request.ts';
import { giveWay } from '../registry/give-way.ts';
import { dropDuplicateOwners } from '../registry/object-metadata.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { WriteRequest, Written } from '../registry/write-request.ts';
import type { BodyDecoder } from './body-decoder.ts';
import { checkCreateAllowed, type CreateAuthorization } from './create-authorization.ts';
import type { Negotiated } from './negotiation.ts';
import { respondOutcome, type CreateOutcomes } from './create-outcome.ts';
import { checkObjectTransform, respondObject } from './object-response.ts';
import { HttpWriteRequest, type ResourceRequest, optionsObject } from './resource-request.ts';

export interface WriteModules extends CreateAuthorization {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  readonly now: () => Date;
  /** What some kinds of new objects can be waited for; nothing unless told otherwise. */
  readonly outcomes?: CreateOutcomes | undefined;
}

const namespaceMismatch = 'the namespace of the provided object does not match the namespace sent on the request';

/** POST on a collection. */
export async function createEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = decodeWriteOptions(context.info.query, 'CreateOptions');
  checkObjectTransform(definition, negotiated, context);
  const body = await modules.decoder.readBody(context);
  const decoded = modules.decoder.decodeBody(body, context, definition, options.fieldValidation);
  const object = decoded instanceof Promise ? await decoded : decoded;
  context.audit?.requestObject(object);
  checkNamespace(request, object);
  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('CreateOptions', options));
  const written = await modules.store.create(write, object, { bytes: body.bytes.length });
  const waits = context.exchange.headers['prefer'] !== undefined && !options.dryRun;
  if (waits && (await respondOutcome(modules, request, negotiated, written))) return;
  respondWritten(modules, request, negotiated, written);
}

/** PUT on an object or one of its parts. */
export async function updateEndpoint(
  modules: WriteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = decodeWriteOptions(context.info.query, 'UpdateOptions');
  checkObjectTransform(definition, negotiated, context);
  const body = await modules.decoder.readBody(context);
  const first = await modules.decoder.decodeBody(body, context, definition, options.fieldValidation);
  context.audit?.requestObject(first);
  checkName(request, first);
  checkNamespace(request, first);
  const expectedUid = first.metadata.uid;

  const write = new HttpWriteRequest(request, options.dryRun, optionsObject('UpdateOptions', options));
  let unused: KubeObject | undefined = first;
  const written = await modules.store.update(
    write,
    async (current, bytes) => {
      // Each attempt changes the object: after a lost race the body is read anew, which is rare and cheaper than a copy.
      const object = unused ?? (await modules.decoder.decodeBody(body, context, definition, 'Ignore'));
      unused = undefined;
      checkNamespace(request, object);
      await admitUpdate(modules.store, write, object, current, bytes);
      return object;
    },
    { expectedUid, authorizeCreate: () => checkCreateAllowed(modules, request), bytes: body.bytes.length },
  );
  respondWritten(modules, request, negotiated, written);
}

/** managedFields, then mutating admission of an update; on a missing object it is a create (K6.2). */
export async function admitUpdate(
  store: ObjectStore,
  write: WriteRequest,
  object: KubeObject,
  current: DeepReadonly<KubeObject> | undefined,
  /** About how big the object is: ownership of something big takes its time, as decoding it did. */
  bytes = 0,
): Promise<void> {
  dropDuplicateOwners(object, write, 'request');
  await giveWay(bytes);
  await store.modules.fields.update(write, current, object, bytes);
  await giveWay(bytes);
  await admitManaged(store, write, object, current);
}

/** The same for an object whose managedFields are right already. */
export async function admitManaged(
  store: ObjectStore,
  write: WriteRequest,
  object: KubeObject,
  current: DeepReadonly<KubeObject> | undefined,
): Promise<void> {
  await store.modules.admission.admit(
    admissionAttributes(write, current === undefined ? 'CREATE' : 'UPDATE', write.name, object, current),
  );
  dropDuplicateOwners(object, write, 'admission');
}

/** The name of the body must be there and be that of the URL (K2.4). */
export function checkName(request: Pick<ResourceRequest, 'name'>, object: KubeObject): void {
  const name = object.metadata.name ?? '';
  if (name === '') {
    throw statusErrors.badRequest(
      `the name of the object (${request.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (name !== request.name) {
    throw statusErrors.badRequest(
      `the name of the object (${name}) does not match the name on the URL (${request.name})`,
    );
  }
}

/** The namespace of the body is that of the URL, or empty; cluster-scoped objects lose it silently (K2.1). */
export function checkNamespace(request: Pick<ResourceRequest, 'definition' | 'namespace'>, object: KubeObject): void {
  const { metadata } = object;
  if (!request.definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  if ((metadata.namespace ?? '') === '') metadata.namespace = request.namespace;
  else if (metadata.namespace !== request.namespace) throw statusErrors.badRequest(namespaceMismatch);
}

/** 201 for what came into being, 200 for the rest (K1.5). */
export function respondWritten(
  modules: Pick<WriteModules, 'now'>,
  request: ResourceRequest,
  negotiated: Negotiated,
  written: Written,
): void {
  respondObject(
    request.context,
    request.definition,
    negotiated,
    written.created ? 201 : 200,
    { object: () => written.object, bytes: written.bytes, revision: written.revision },
    modules.now(),
  );
}

import { writeObject } from '../write-object-response.ts';
import {
  type DeleteOptions,
  type LogicalClusterName,
  decodeListOptions,
  isStatusError,
} from '@multiplane/apimachinery';
import { timeSlices, yieldToEventLoop } from '@multiplane/component-base';
import type { Negotiated } from '@multiplane/generic-server';
import type { CacheEntry } from '@multiplane/storage';
import type { ObjectStore } from '../registry/object-store.ts';
import { type BodyDecoder } from '../write-path/decoding/body-decoder.ts';
import { viewFor } from '../registry/store/object-view.ts';
import { cutPage, startList } from './list/list-page.ts';
import { writeList } from './list/list-writer.ts';
import { nameOfKey, namespaceOfKey } from '../registry/store/selection.ts';
import { checkListTransform, respondObject } from './response/object-response.ts';
import { withRequiredFields } from './required-fields.ts';
import { HttpWriteRequest, type ResourceRequest } from './resource-request.ts';
import { scanScope } from '../registry/store/scan-scope.ts';
import { readDeleteOptions } from '../write-path/decoding/read-delete-options.ts';

export interface DeleteModules {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  readonly now: () => Date;
}

function optionsForAdmission(options: DeleteOptions): Record<string, unknown> {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.preconditions === undefined ? {} : { preconditions: options.preconditions }),
    ...(options.orphanDependents === undefined ? {} : { orphanDependents: options.orphanDependents }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
  };
}

/** DELETE of one object. */
export async function deleteEndpoint(
  modules: DeleteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = await readDeleteOptions(modules.decoder, context);
  const write = new HttpWriteRequest(request, options.dryRun, optionsForAdmission(options));
  const outcome = await modules.store.delete(write, options);
  const { removed } = outcome;
  if (removed && !definition.strategy.returnsDeletedObject) {
    const { group, resource } = definition;
    const details = {
      name: request.name,
      ...(group === '' ? {} : { group }),
      kind: resource,
      uid: outcome.object.metadata.uid,
    };
    writeObject(
      context,
      200,
      { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details },
      negotiated,
    );
    return;
  }
  const status = !removed && options.orphanDependents === false ? 202 : 200;
  await respondObject(
    context,
    definition,
    negotiated,
    status,
    { object: () => outcome.object, bytes: undefined, revision: 0, size: outcome.size },
    modules.now(),
  );
}

/**
 * DELETE of a collection: deletes the objects that match in one snapshot, one after the other in list order, so that watchers
 * see that order. Objects that were deleted meanwhile are skipped; the first other failure ends the request.
 */
export async function deleteCollectionEndpoint(
  modules: DeleteModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition, cluster, namespace } = request;
  const options = withRequiredFields(decodeListOptions(context.info.query), request);
  const deleteOptions = await readDeleteOptions(modules.decoder, context);
  const { cache, reader } = modules.store.modules;
  const view = viewFor(definition, context.signal, reader);
  const scope = scanScope(definition, cluster, namespace, options, view ?? reader, cache.indexes);
  const start = await startList(cache, scope, options);
  const page = await cutPage(start, scope.prefix, yieldToEventLoop, view);
  const matched: CacheEntry[] = [];
  for (const piece of page.pieces) for (const entry of piece) matched.push(entry);
  await view?.prepare(matched);

  const forAdmission = optionsForAdmission(deleteOptions);
  // A deletion that is not stored, as in a dry run, waits for nothing.
  const slices = timeSlices(context.info.cluster);
  for (const entry of matched) {
    if (slices.isExceeded) await slices.yield();
    context.signal.throwIfAborted();
    const item = {
      ...request,
      cluster: cluster as LogicalClusterName,
      name: nameOfKey(entry.key),
      namespace: definition.namespaced ? namespaceOfKey(entry.key) : '',
    };
    try {
      const write = new HttpWriteRequest(item, deleteOptions.dryRun, forAdmission);
      await modules.store.delete(write, { ...deleteOptions, isInCollection: true });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
  checkListTransform(definition, negotiated, context);
  await writeList({
    context,
    definition,
    negotiated,
    page: { ...page, pieces: whole(matched) },
    revision: start.snapshot.revision,
    reader: view ?? reader,
    view,
    keptBytes: reader.keptBytes,
    now: modules.now(),
  });
}

function* whole(entries: readonly CacheEntry[]): Generator<readonly CacheEntry[], void, void> {
  yield entries;
}

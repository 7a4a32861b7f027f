import { ResourceVersionError, decodeListOptions, parseResourceVersion, statusErrors } from '@multiplane/apimachinery';
import type { ObjectStore } from '../registry/object-store.ts';
import { requireContent } from '../registry/store-access.ts';
import type { Negotiated } from './negotiation.ts';
import { viewFor } from '../registry/object-view.ts';
import { cutPage, preparedPage, startList } from './list-page.ts';
import { writeList } from './list-writer.ts';
import { answered } from './answered.ts';
import { checkListTransform, checkObjectTransform, respondObject } from './object-response.ts';
import type { ResourceRequest } from './resource-request.ts';
import { scanScope } from './scan-scope.ts';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { nextTurn } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';

export interface ReadModules {
  readonly store: ObjectStore;
  readonly now: () => Date;
}

/** The object behind a request, as fresh as its `resourceVersion` asks (K3.2). */
export function readEntry({ store }: ReadModules, request: ResourceRequest): CacheEntry | Promise<CacheEntry> {
  const { context, definition, namespace, name } = request;
  const text = context.info.query.get('resourceVersion') ?? '';
  let minRevision: number | undefined;
  try {
    if (text !== '') minRevision = parseResourceVersion(text);
  } catch (error) {
    if (error instanceof ResourceVersionError) throw statusErrors.untyped(error.message);
    throw error;
  }
  return store.get(definition, { cluster: request.cluster as LogicalClusterName, namespace, name }, minRevision);
}

/** GET of an object, or of a part that shows the whole object. Answers at once where nothing has to be waited for. */
export function getEndpoint(modules: ReadModules, request: ResourceRequest, negotiated: Negotiated): Promise<void> {
  const { context, definition } = request;
  checkObjectTransform(definition, negotiated, context);
  const entry = readEntry(modules, request);
  if (entry instanceof Promise || modules.store.modules.reader.needsWebhook(definition, entry))
    return respondCurrent(modules, request, negotiated, 200, entry);
  respondEntry(modules, request, negotiated, 200, entry, undefined);
  return answered;
}

/** Answers with an object as it is in the store, once that is known. */
export async function respondCurrent(
  modules: ReadModules,
  request: ResourceRequest,
  negotiated: Negotiated,
  status: 200 | 201,
  pending: CacheEntry | Promise<CacheEntry>,
): Promise<void> {
  const { context, definition } = request;
  const { reader } = modules.store.modules;
  const entry = await pending;
  const converted = reader.needsWebhook(definition, entry) ? await reader.read(definition, entry, context) : undefined;
  respondEntry(modules, request, negotiated, status, entry, converted);
}

function respondEntry(
  modules: ReadModules,
  { context, definition }: ResourceRequest,
  negotiated: Negotiated,
  status: 200 | 201,
  entry: CacheEntry,
  converted: DeepReadonly<KubeObject> | undefined,
): void {
  const { reader } = modules.store.modules;
  respondObject(
    context,
    definition,
    negotiated,
    status,
    {
      object: () => converted ?? reader.object(definition, entry),
      bytes: reader.servableBytes(definition, entry),
      revision: entry.revision,
    },
    modules.now(),
  );
}

/** LIST (K3.2, K3.3). */
export async function listEndpoint(
  modules: ReadModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = decodeListOptions(context.info.query);
  checkListTransform(definition, negotiated, context);
  const { cache, reader } = modules.store.modules;
  const view = viewFor(definition, context.signal, reader);
  const scope = scanScope(definition, request.cluster, request.namespace, options, view ?? reader);
  requireContent(cache);
  const start = await startList(cache, scope, options);
  const page = await cutPage(start, scope.prefix, scope.selection, nextTurn, view);
  await writeList({
    context,
    definition,
    negotiated,
    page: view === undefined ? page : await preparedPage(page, view),
    revision: start.snapshot.revision,
    reader: view ?? reader,
    view,
    now: modules.now(),
    blocks: reader.listBlocks,
  });
}

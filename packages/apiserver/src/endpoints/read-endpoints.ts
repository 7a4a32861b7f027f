import {
  ResourceVersionError,
  type StatusError,
  decodeListOptions,
  parseResourceVersion,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Negotiated, RequestContext } from '@multiplane/generic-server';
import type { ObjectStore } from '../registry/object-store.ts';
import { grownSize } from '../registry/grown-objects.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import { whileTimeLasts } from '../time-slices.ts';
import { requireLoadedCache } from '../registry/store/cache-freshness.ts';
import { viewFor } from '../registry/store/object-view.ts';
import { cutPage, preparedPage, startList } from './list/list-page.ts';
import { writeList } from './list/list-writer.ts';
import { completed } from './response/completed.ts';
import { checkListTransform, respondObject } from './response/object-response.ts';
import { requiredFieldsParameter, requireFields, withRequiredFields } from './required-fields.ts';
import { requiredLabelsParameter, withRequiredLabels } from './required-labels.ts';
import type { ResourceRequest } from './resource-request.ts';
import { scanScope } from '../registry/store/scan-scope.ts';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { yieldToEventLoop } from '@multiplane/component-base';
import type { CacheEntry } from '@multiplane/storage';

export interface ReadModules {
  readonly store: ObjectStore;
  readonly now: () => Date;
}

/** The object of a request, at least as new as its `resourceVersion`, with the labels and stored fields that the request requires. */
export function readEntry({ store }: ReadModules, request: ResourceRequest): CacheEntry | Promise<CacheEntry> {
  const { context, definition, namespace, name } = request;
  const text = context.info.query.get('resourceVersion') ?? '';
  let minRevision: number | undefined;
  try {
    if (text !== '') minRevision = parseResourceVersion(text);
  } catch (error) {
    if (error instanceof ResourceVersionError) throw invalidVersion(definition, error);
    throw error;
  }
  const entry = store.get(definition, { cluster: request.cluster as LogicalClusterName, namespace, name }, minRevision);
  const { query } = context.info;
  if (!query.has(requiredLabelsParameter) && !query.has(requiredFieldsParameter)) return entry;
  const checked = (present: CacheEntry): CacheEntry => requireFields(request, withRequiredLabels(request, present));
  return entry instanceof Promise ? entry.then(checked) : checked(entry);
}

/** Kubernetes reads events from etcd, which reports an invalid version by another error than its watch cache. */
const invalidVersion = (
  { resource, origin }: ResourceRequest['definition'],
  error: ResourceVersionError,
): StatusError =>
  resource === 'events' && origin === 'built-in'
    ? statusErrors.badRequest(`invalid resource version: ${error.message}`, error)
    : statusErrors.untyped(error.message);

/** GET of an object, or of a subresource that returns the whole object. Responds synchronously if no step is asynchronous. */
export function getEndpoint(modules: ReadModules, request: ResourceRequest, negotiated: Negotiated): Promise<void> {
  const { definition } = request;
  const entry = readEntry(modules, request);
  const { reader } = modules.store.modules;
  const isPending = entry instanceof Promise || reader.needsWebhook(definition, entry);
  // Rare, and undefined for all but large custom resources.
  const checking = isPending ? undefined : reader.check(definition, entry, request.context);
  if (isPending || checking !== undefined) return respondCurrent(modules, request, negotiated, 200, entry, checking);
  return respondEntry(modules, request, negotiated, 200, entry, undefined) ?? completed;
}

/** Responds with a stored object once it was read. */
export async function respondCurrent(
  modules: ReadModules,
  request: ResourceRequest,
  negotiated: Negotiated,
  status: 200 | 201,
  pending: CacheEntry | Promise<CacheEntry>,
  checking?: Promise<void>,
): Promise<void> {
  const { context, definition } = request;
  const { reader } = modules.store.modules;
  const entry = await pending;
  await (checking ?? reader.check(definition, entry, context));
  const converted = reader.needsWebhook(definition, entry) ? await reader.read(definition, entry, context) : undefined;
  await respondEntry(modules, request, negotiated, status, entry, converted);
}

function respondEntry(
  modules: ReadModules,
  { context, definition }: ResourceRequest,
  negotiated: Negotiated,
  status: 200 | 201,
  entry: CacheEntry,
  converted: DeepReadonly<KubeObject> | undefined,
): Promise<void> | undefined {
  const { reader } = modules.store.modules;
  const bytes = reader.servableBytes(definition, entry);
  let shown = converted;
  return respondObject(
    context,
    definition,
    negotiated,
    status,
    {
      object: () => shown ?? reader.object(definition, entry),
      bytes,
      revision: entry.revision,
      size: grownSize(converted, entry.value.length),
      load: () =>
        shown !== undefined
          ? undefined
          : bytes !== undefined
            ? reader.load(entry, context)
            : convertLarge(reader, definition, entry, context).then((object) => {
                shown = object;
              }),
    },
    modules.now(),
  );
}

async function convertLarge(
  reader: ObjectReader,
  definition: ResourceDefinition,
  entry: CacheEntry,
  context: RequestContext,
): Promise<DeepReadonly<KubeObject>> {
  await reader.load(entry, context);
  return whileTimeLasts(reader.objectIncrementally(definition, entry), context);
}

/** LIST. */
export async function listEndpoint(
  modules: ReadModules,
  request: ResourceRequest,
  negotiated: Negotiated,
): Promise<void> {
  const { context, definition } = request;
  const options = withRequiredFields(decodeListOptions(context.info.query), request);
  const { cache, reader } = modules.store.modules;
  const view = viewFor(definition, context.signal, reader);
  const scope = scanScope(definition, request.cluster, request.namespace, options, view ?? reader, cache.indexes);
  requireLoadedCache(cache);
  const start = await startList(cache, scope, options);
  const page = await cutPage(start, scope.prefix, yieldToEventLoop, view);
  checkListTransform(definition, negotiated, context);
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
    protobufBlocks: reader.protobufListBlocks,
    keptBytes: reader.keptBytes,
  });
}

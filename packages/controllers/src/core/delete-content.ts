import {
  foregroundFinalizer,
  isStatusError,
  orphanFinalizer,
  type GroupVersionResource,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerFactory, ObjectClient, ObjectMetadataRecord } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';

export interface ContentModules {
  readonly informers: InformerFactory;
  readonly client: ObjectClient;
}

interface ContentScope {
  readonly cluster: LogicalClusterName;
  /** Empty: cluster-scoped objects only. Undefined: all objects. */
  readonly namespace: string | undefined;
  /** Only these resources, in any version. */
  readonly only?: readonly GroupVersionResource[] | undefined;
  /** Resources that are not deleted here. */
  readonly skip?: ((resource: GroupVersionResource) => boolean) | undefined;
  /** A served version of a resource, if it may differ from the stored version. */
  readonly servedAs?: ((resource: GroupVersionResource) => GroupVersionResource) | undefined;
}

/** The objects that remain after a round of deletions. */
export interface RemainingContent {
  /** Number of objects by `<resource>.<group>`; `<resource>.` for the core group. */
  readonly objects: ReadonlyMap<string, number>;
  /** Number of objects that wait for a finalizer, by its name. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Messages of failed deletions. */
  readonly failures: readonly string[];
}

const nothing: RemainingContent = { objects: new Map(), finalizers: new Map(), failures: [] };

/**
 * Deletes every object of a scope by deletecollection per resource, and reports what remains. The resources with objects
 * are read from the watch cache instead of discovery, so an empty scope costs no request.
 */
export async function deleteContent(
  scope: ContentScope,
  { informers, client }: ContentModules,
): Promise<RemainingContent> {
  const failures: string[] = [];
  const found = Array.from(records(scope, informers));
  if (found.length === 0) return nothing;
  // A scope may have 100,000 objects, and the first look at a record parses its metadata.
  const slices = timeSlices(scope.cluster);
  const kinds: Kinds = new Map();
  for (const record of found) {
    if (isDeletable(record)) addKind(kinds, record);
    if (slices.isExceeded) await slices.yield();
  }
  for (const [text, { resource: stored, namespaces }] of kinds) {
    const resource = scope.servedAs?.(stored) ?? stored;
    for (const namespace of namespaces) {
      try {
        await client.deleteCollection(
          resource,
          { cluster: scope.cluster, namespace },
          { propagationPolicy: 'Background' },
        );
      } catch (error) {
        if (isStatusError(error, 'MethodNotAllowed'))
          await deleteEach(scope, resource, namespace, { informers, client });
        else if (!isStatusError(error, 'NotFound')) failures.push(`${text}: ${(error as Error).message}`);
      }
    }
  }
  const objects = new Map<string, number>();
  const finalizers = new Map<string, number>();
  for (const record of kinds.size === 0 ? found : records(scope, informers)) {
    count(objects, resourceText(record.resource));
    for (const finalizer of record.metadata.finalizers ?? []) count(finalizers, finalizer);
    if (slices.isExceeded) await slices.yield();
  }
  return { objects, finalizers, failures };
}

/**
 * Whether a delete request changes an object: it is not being deleted yet, or has finalizers of the garbage collector, which
 * a request with background propagation removes.
 */
function isDeletable({ metadata }: ObjectMetadataRecord): boolean {
  if (metadata.deletionTimestamp === undefined) return true;
  return metadata.finalizers?.some((name) => name === foregroundFinalizer || name === orphanFinalizer) === true;
}

/** Deletes objects one by one, for resources without `deletecollection` (namespaces). */
async function deleteEach(
  scope: ContentScope,
  resource: GroupVersionResource,
  namespace: string,
  { informers, client }: ContentModules,
): Promise<void> {
  for (const record of Array.from(informers.metadata.list({ cluster: scope.cluster, namespace, resource }))) {
    if (record.metadata.deletionTimestamp !== undefined) continue;
    try {
      await client.delete(resource, record, { propagationPolicy: 'Background' });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
}

function* records(scope: ContentScope, informers: InformerFactory): IterableIterator<ObjectMetadataRecord> {
  const { cluster, namespace } = scope;
  for (const resource of scope.only ?? [undefined]) {
    for (const record of informers.metadata.list({ cluster, namespace, resource })) {
      if (namespace === '' && record.namespace !== '') continue;
      if (scope.skip?.(record.resource) !== true) yield record;
    }
  }
}

/** Resources with the namespaces that have objects of them. */
type Kinds = Map<string, { readonly resource: GroupVersionResource; readonly namespaces: Set<string> }>;

function addKind(kinds: Kinds, { resource, namespace }: ObjectMetadataRecord): void {
  const text = resourceText(resource);
  const kind = kinds.get(text);
  if (kind === undefined) kinds.set(text, { resource, namespaces: new Set([namespace]) });
  else kind.namespaces.add(namespace);
}

const resourceText = ({ resource, group }: GroupVersionResource): string => `${resource}.${group}`;
const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

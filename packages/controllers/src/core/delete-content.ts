import {
  foregroundFinalizer,
  isStatusError,
  orphanFinalizer,
  type GroupVersionResource,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerFactory, ObjectClient, ObjectMetadataRecord } from '@multiplane/client';

export interface ContentModules {
  readonly informers: InformerFactory;
  readonly client: ObjectClient;
}

interface ContentScope {
  readonly cluster: LogicalClusterName;
  /** Empty: what is cluster-scoped. Undefined: everything. */
  readonly namespace: string | undefined;
  /** Nothing but these kinds, whatever the version. */
  readonly only?: readonly GroupVersionResource[] | undefined;
  /** Kinds that somebody else removes, or that go last. */
  readonly skip?: ((resource: GroupVersionResource) => boolean) | undefined;
  /** In which version a kind is served, where that may be another than objects are stored in. */
  readonly servedAs?: ((resource: GroupVersionResource) => GroupVersionResource) | undefined;
}

/** What is still there after a round of deletions. */
export interface RemainingContent {
  /** `<resource>.<group>` (the dot stays for the core group) → number of objects. */
  readonly objects: ReadonlyMap<string, number>;
  /** Finalizer → number of objects that wait for it. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Texts of deletions that failed. */
  readonly failures: readonly string[];
}

const nothing: RemainingContent = { objects: new Map(), finalizers: new Map(), failures: [] };

/**
 * Deletes every object of a scope, kind by kind as a collection, and reports what remains. Which kinds have objects is
 * read from the watch cache, so an empty tenant costs nothing and no discovery can be stale.
 */
export async function deleteContent(
  scope: ContentScope,
  { informers, client }: ContentModules,
): Promise<RemainingContent> {
  const failures: string[] = [];
  const found = Array.from(records(scope, informers));
  if (found.length === 0) return nothing;
  const kinds = kindsOf(found.filter((record) => isToAsk(record)));
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
  }
  return { objects, finalizers, failures };
}

/** What is marked already waits for its finalizers, whoever asks again; but the collector's are taken back by asking. */
function isToAsk({ metadata }: ObjectMetadataRecord): boolean {
  if (metadata.deletionTimestamp === undefined) return true;
  return metadata.finalizers?.some((name) => name === foregroundFinalizer || name === orphanFinalizer) === true;
}

/** Kinds without `deletecollection` (namespaces) go object by object. */
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
  // One that is told its kinds is not made to look for others.
  for (const resource of scope.only ?? [undefined]) {
    for (const record of informers.metadata.list({ cluster, namespace, resource })) {
      if (namespace === '' && record.namespace !== '') continue;
      if (scope.skip?.(record.resource) !== true) yield record;
    }
  }
}

function kindsOf(
  all: Iterable<ObjectMetadataRecord>,
): Map<string, { resource: GroupVersionResource; namespaces: Set<string> }> {
  const kinds = new Map<string, { resource: GroupVersionResource; namespaces: Set<string> }>();
  for (const { resource, namespace } of all) {
    const text = resourceText(resource);
    const kind = kinds.get(text);
    if (kind === undefined) kinds.set(text, { resource, namespaces: new Set([namespace]) });
    else kind.namespaces.add(namespace);
  }
  return kinds;
}

const resourceText = ({ resource, group }: GroupVersionResource): string => `${resource}.${group}`;
const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

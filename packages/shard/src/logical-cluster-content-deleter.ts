import {
  asJson,
  deepCopy,
  isStatusError,
  mapConcurrently,
  statusErrors,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  admissionAttributes,
  storedIdentityOf,
  loopbackUser,
  type ObjectStore,
  type ResourceResolver,
  type WriteRequest,
} from '@multiplane/apiserver';
import { apiBindingFinalizer, apiBindings, type APIBinding, type ResourceDefinition } from '@multiplane/apis';
import { RequestWork, timeSlices } from '@multiplane/component-base';
import { logicalClusters, type ContentDeletionOutcome, type ContentDeleter } from '@multiplane/controllers';
import { isStorageError, objectKey, type CacheEntry } from '@multiplane/storage';
import { builtInPrefixes } from './content-prefix.ts';
import { ContentChangeTracker, type DeletionPass } from './content-change-tracker.ts';

/** Concurrent deletions; the storage writes them in batches. */
const maxConcurrentDeletions = 64;
/** Entries processed between two checks of the time slice. */
const pageSize = 500;
const deletionField = Buffer.from('"deletionTimestamp"');
const never = new AbortController().signal;

/** A stored object of the logical cluster; without a definition if its kind is not served in the stored version. */
interface StoredObject {
  readonly entry: CacheEntry;
  readonly definition: ResourceDefinition | undefined;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
}

type Category = 'itself' | 'rbac' | 'binding' | 'namespace' | 'content';
type Outcome = 'gone' | 'held' | 'failed';

/**
 * Deletes the content of logical clusters (kcp `pkg/reconciler/core/logicalclusterdeletion/deletion`). It works below the
 * endpoints, where deleting an object without finalizers costs admission and one write, without decoding it. One scan over
 * the keys of the cluster, then these steps, each after the one before is stored, so that a crash leaves only objects that the
 * next pass finds:
 *
 * ```
 *  content      objects without finalizers are removed, others marked as deleted (workspaces, CRDs, …)
 *  namespaces   an empty one is removed, others are marked as deleted for their controller
 *  bindings     after all other content, because bound resources cannot be addressed without them
 *  RBAC         last, so that controllers keep their access to the cluster until then
 * ```
 *
 * Objects that were created meanwhile cause a second scan before the RBAC step, and keep the RBAC. When their binding was
 * removed in this pass, the next one removes them in spite of finalizers, because no request can address them.
 */
export class LogicalClusterContentDeleter implements ContentDeleter {
  readonly #store: ObjectStore;
  readonly #resolver: ResourceResolver;
  readonly #tracker: ContentChangeTracker;

  constructor(modules: {
    readonly store: ObjectStore;
    readonly resolver: ResourceResolver;
    readonly builtIn: readonly ResourceDefinition[];
  }) {
    this.#store = modules.store;
    this.#resolver = modules.resolver;
    const builtIn = builtInPrefixes(modules.builtIn);
    this.#tracker = new ContentChangeTracker({ builtIn }, { cache: modules.store.modules.cache });
  }

  async empty(cluster: LogicalClusterName): Promise<ContentDeletionOutcome> {
    const { cache } = this.#store.modules;
    // The scan must see all writes before this point; the tracker reports those after it.
    await cache.freshRevision();
    const pass = this.#tracker.begin(cluster);
    try {
      return await this.#empty(cluster, pass);
    } finally {
      pass.end();
    }
  }

  async #empty(cluster: LogicalClusterName, pass: DeletionPass): Promise<ContentDeletionOutcome> {
    const found = await this.#find(cluster);
    const left: Outcome[] = [];
    const each = (all: readonly StoredObject[], act: (one: StoredObject) => Promise<Outcome>): Promise<void> =>
      mapConcurrently(all, maxConcurrentDeletions, async (one) => {
        const outcome = await act(one);
        if (outcome !== 'gone') left.push(outcome);
      });
    const occupied = new Set<string>();
    const isAbandoned =
      found.binding.length === 0 &&
      !found.content.some(({ definition }) => definition?.resource === 'customresourcedefinitions');
    await each(found.content, async (one) => {
      const outcome = await (isAbandoned && one.definition === undefined
        ? this.#removeAbandoned(one)
        : this.#delete(one));
      if (outcome !== 'gone' && one.namespace !== '') occupied.add(one.namespace);
      return outcome;
    });
    await each(found.namespace, (one) => (occupied.has(one.name) ? this.#delete(one) : this.#removeNamespace(one)));
    if (left.length === 0) await each(found.binding, (one) => this.#removeBinding(one));
    if (left.length > 0) return left.includes('failed') ? 'failed' : 'held';
    await this.#store.modules.cache.freshRevision();
    const now = pass.changed ? await this.#find(cluster) : undefined;
    if (now !== undefined && now.content.length + now.namespace.length + now.binding.length > 0) return 'failed';
    await each((now ?? found).rbac, (one) => this.#delete(one));
    return left.length === 0 ? 'nothing' : left.includes('failed') ? 'failed' : 'held';
  }

  async release(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: DeepReadonly<KubeObject>,
  ): Promise<void> {
    const { cache, admission } = this.#store.modules;
    const definition = this.#resolver.resolve(cluster, resource.group, resource.version, resource.resource);
    if (definition?.storage === undefined) throw statusErrors.unknownResource();
    const { namespace = '', name = '', resourceVersion = '' } = object.metadata;
    const request = requestFor({ definition, cluster, namespace, name });
    // Managed fields are the largest part of the object and are not changed, so they are not copied.
    const { finalizers: _finalizers, managedFields, ...metadata } = object.metadata;
    const after = deepCopy(asJson({ ...object, metadata } as KubeObject)) as unknown as KubeObject;
    if (managedFields !== undefined) after.metadata.managedFields = managedFields as Json[];
    const attributes = admissionAttributes(request, 'UPDATE', name, after, object);
    await admission.admit(attributes);
    await admission.validate(attributes);
    const key = objectKey(definition.storage.prefix, { cluster, namespace, name });
    try {
      await cache.delete(key, Number(resourceVersion));
    } catch (error) {
      if (!isStorageError(error, 'RevisionConflict')) throw error;
      throw statusErrors.conflict(
        resource,
        name,
        'the object has been modified; please apply your changes to the latest version and try again',
      );
    }
  }

  /** Scans all stored objects of a logical cluster, kind by kind. */
  async #find(cluster: LogicalClusterName): Promise<Record<Category, StoredObject[]>> {
    const { cache } = this.#store.modules;
    const found: Record<Category, StoredObject[]> = { itself: [], rbac: [], binding: [], namespace: [], content: [] };
    const slices = timeSlices();
    for (const { group, resource, prefix } of this.#tracker.prefixesOf(cluster)) {
      const scope = `${prefix}${cluster}/`;
      const category = categoryOf(group, resource);
      const definitions = new Map<string, ResourceDefinition | undefined>();
      for (let from = scope; ;) {
        const page = cache.listCurrent(scope, from, pageSize);
        for (const entry of page) {
          const { apiVersion } = storedIdentityOf(entry.value);
          const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
          if (!definitions.has(version))
            definitions.set(version, this.#definition(cluster, { group, version, resource }, prefix));
          const rest = entry.key.slice(scope.length);
          const slash = rest.indexOf('/');
          found[category].push({
            entry,
            definition: definitions.get(version),
            cluster,
            namespace: slash < 0 ? '' : rest.slice(0, slash),
            name: rest.slice(slash + 1),
          });
        }
        if (page.length < pageSize) break;
        from = `${page.at(-1)?.key ?? ''}\u0000`;
        if (slices.isExceeded) await slices.yield();
      }
    }
    return found;
  }

  #definition(
    cluster: LogicalClusterName,
    { group, version, resource }: GroupVersionResource,
    prefix: string,
  ): ResourceDefinition | undefined {
    try {
      const definition = this.#resolver.resolve(cluster, group, version, resource);
      return definition?.storage?.prefix === prefix ? definition : undefined;
    } catch (error) {
      if (isStatusError(error)) return undefined;
      throw error;
    }
  }

  /** Removes an object or marks it as deleted; skips objects that are already marked. */
  async #delete(found: StoredObject): Promise<Outcome> {
    const { entry, definition } = found;
    if (entry.value.includes(deletionField) && this.#object(entry).metadata.deletionTimestamp !== undefined)
      return 'held';
    if (definition === undefined) return 'failed';
    try {
      const { removed } = await this.#store.delete(requestFor({ ...found, definition }), {
        propagationPolicy: 'Background',
      });
      return removed ? 'gone' : 'held';
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return error.reason === 'NotFound' ? 'gone' : 'failed';
    }
  }

  /**
   * Removes an object of a kind that nothing in the logical cluster defines any more: a controller created it while the last
   * binding was removed. No request can address it, so no finalizer can be removed from it either.
   */
  async #removeAbandoned({ entry }: StoredObject): Promise<Outcome> {
    try {
      await this.#store.modules.cache.delete(entry.key, entry.revision);
      return 'gone';
    } catch (error) {
      if (isStorageError(error, 'RevisionConflict')) return 'failed';
      throw error;
    }
  }

  /** Removes a namespace that has only the `kubernetes` finalizer, because it is known to be empty. */
  async #removeNamespace(found: StoredObject): Promise<Outcome> {
    const { metadata, spec } = this.#object(found.entry) as DeepReadonly<
      KubeObject & { spec?: { finalizers?: string[] } }
    >;
    const hasOnlySystemFinalizers =
      (metadata.finalizers ?? []).length === 0 && (spec?.finalizers ?? []).every((one) => one === 'kubernetes');
    return hasOnlySystemFinalizers ? this.#remove(found) : this.#delete(found);
  }

  /** Removes a binding with only the system's finalizer and without applied claims: no bound object is left. */
  async #removeBinding(found: StoredObject): Promise<Outcome> {
    const { metadata, status } = this.#object(found.entry) as DeepReadonly<APIBinding>;
    const hasOnlySystemFinalizers =
      (metadata.finalizers ?? []).every((one) => one === apiBindingFinalizer) &&
      (status?.appliedPermissionClaims ?? []).length === 0;
    return hasOnlySystemFinalizers ? this.#remove(found) : this.#delete(found);
  }

  /** Removes an object at the scanned revision, in spite of finalizers. */
  async #remove(found: StoredObject): Promise<Outcome> {
    const { entry, definition } = found;
    if (definition === undefined) return 'failed';
    const { cache, admission } = this.#store.modules;
    try {
      const request = requestFor({ ...found, definition });
      const attributes = admissionAttributes(request, 'DELETE', found.name, undefined, this.#object(entry));
      await admission.admit(attributes);
      await admission.validate(attributes);
      await cache.delete(entry.key, entry.revision);
      return 'gone';
    } catch (error) {
      if (isStorageError(error, 'RevisionConflict') || isStatusError(error)) return 'failed';
      throw error;
    }
  }

  #object(entry: CacheEntry): DeepReadonly<KubeObject> {
    return this.#store.modules.reader.stored(entry);
  }
}

function categoryOf(group: string, resource: string): Category {
  if (group === '' && resource === 'namespaces') return 'namespace';
  if (group === logicalClusters.group && resource === logicalClusters.resource) return 'itself';
  if (group === apiBindings.group && resource === apiBindings.resource) return 'binding';
  return group === 'rbac.authorization.k8s.io' && resource.startsWith('clusterrole') ? 'rbac' : 'content';
}

const requestFor = ({
  definition,
  cluster,
  namespace,
  name,
}: Pick<WriteRequest, 'definition' | 'cluster' | 'namespace' | 'name'>): WriteRequest => ({
  definition,
  cluster,
  namespace,
  name,
  subresource: '',
  user: loopbackUser,
  dryRun: false,
  fieldManager: 'multiplane',
  options: {},
  signal: never,
  work: new RequestWork({ flow: cluster }),
  warn: () => undefined,
});

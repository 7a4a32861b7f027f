import {
  asJson,
  deepCopy,
  isStatusError,
  severalAtOnce,
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
import { slicesOfTurns } from '@multiplane/component-base';
import { logicalClusters, type ContentLeft, type ContentRemover } from '@multiplane/controllers';
import { isStorageError, objectKey, type CacheEntry } from '@multiplane/storage';
import { ContentWatch, type ContentRound } from './content-watch.ts';

/** What a round waits for is the store: deletions that wait together are written together. */
const deletionsAtOnce = 64;
/** Entries looked at between two looks at the clock, and how long they hold the event loop. */
const pageSize = 500;
const deletionField = Buffer.from('"deletionTimestamp"');
const never = new AbortController().signal;

/** A stored object of the logical cluster; without a definition when nobody serves its kind in the stored version. */
interface Found {
  readonly entry: CacheEntry;
  readonly definition: ResourceDefinition | undefined;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
}

type Place = 'itself' | 'rbac' | 'binding' | 'namespace' | 'content';
type Outcome = 'gone' | 'held' | 'failed';

/**
 * Empties logical clusters (C15.3) below the endpoints, where an object that nobody holds costs its admission and one
 * write, and is not even parsed. One look over the keys of the cluster, then in this order, each step when the one
 * before is in the store, so that a crash between any two leaves only what the next round finds:
 *
 * ```
 *  content      what nobody holds goes, the rest is marked: workspaces below, definitions, what has finalizers
 *  namespaces   an empty one goes at once, others are marked for their controller
 *  bindings     when nothing else is left, for without them nobody could name what they bind
 *  RBAC         the cluster's own, last: until then, who works in it may go on
 * ```
 *
 * Whatever came into the cluster meanwhile calls for a second look, before the RBAC goes, and keeps it.
 */
export class ClusterContent implements ContentRemover {
  readonly #store: ObjectStore;
  readonly #resolver: ResourceResolver;
  readonly #watch: ContentWatch;

  constructor(modules: {
    readonly store: ObjectStore;
    readonly resolver: ResourceResolver;
    readonly builtIn: readonly ResourceDefinition[];
  }) {
    this.#store = modules.store;
    this.#resolver = modules.resolver;
    const builtIn = new Set(modules.builtIn.flatMap(({ storage }) => (storage === undefined ? [] : [storage.prefix])));
    this.#watch = new ContentWatch({ builtIn }, { cache: modules.store.modules.cache });
  }

  async empty(cluster: LogicalClusterName): Promise<ContentLeft> {
    const { cache } = this.#store.modules;
    // What others wrote before this moment must be seen by the first look, for the watch tells what came after it.
    await cache.freshRevision();
    const round = this.#watch.begin(cluster);
    try {
      return await this.#empty(cluster, round);
    } finally {
      round.end();
    }
  }

  async #empty(cluster: LogicalClusterName, round: ContentRound): Promise<ContentLeft> {
    const found = await this.#find(cluster);
    const left: Outcome[] = [];
    const each = (all: readonly Found[], act: (one: Found) => Promise<Outcome>): Promise<void> =>
      severalAtOnce(all, deletionsAtOnce, async (one) => {
        const outcome = await act(one);
        if (outcome !== 'gone') left.push(outcome);
      });
    const occupied = new Set<string>();
    await each(found.content, async (one) => {
      const outcome = await this.#delete(one);
      if (outcome !== 'gone' && one.namespace !== '') occupied.add(one.namespace);
      return outcome;
    });
    await each(found.namespace, (one) => (occupied.has(one.name) ? this.#delete(one) : this.#removeNamespace(one)));
    if (left.length === 0) await each(found.binding, (one) => this.#removeBinding(one));
    if (left.length > 0) return left.includes('failed') ? 'failed' : 'held';
    await this.#store.modules.cache.freshRevision();
    const now = round.changed ? await this.#find(cluster) : undefined;
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
    // Who owns what is the largest part of it, and nobody's to change.
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

  /** Everything that is stored of a logical cluster, by one look at each kind that has any object. */
  async #find(cluster: LogicalClusterName): Promise<Record<Place, Found[]>> {
    const { cache } = this.#store.modules;
    const found: Record<Place, Found[]> = { itself: [], rbac: [], binding: [], namespace: [], content: [] };
    const slices = slicesOfTurns();
    for (const { group, resource, prefix } of this.#watch.placesOf(cluster)) {
      const scope = `${prefix}${cluster}/`;
      const place = placeOf(group, resource);
      const definitions = new Map<string, ResourceDefinition | undefined>();
      for (let from = scope; ;) {
        const page = cache.present(scope, from, pageSize);
        for (const entry of page) {
          const { apiVersion } = storedIdentityOf(entry.value);
          const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
          if (!definitions.has(version))
            definitions.set(version, this.#definition(cluster, { group, version, resource }, prefix));
          const rest = entry.key.slice(scope.length);
          const slash = rest.indexOf('/');
          found[place].push({
            entry,
            definition: definitions.get(version),
            cluster,
            namespace: slash < 0 ? '' : rest.slice(0, slash),
            name: rest.slice(slash + 1),
          });
        }
        if (page.length < pageSize) break;
        from = `${page.at(-1)?.key ?? ''}\u0000`;
        if (slices.over) await slices.next();
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

  /** Removes or marks an object; what is marked already is not asked about again. */
  async #delete(found: Found): Promise<Outcome> {
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

  /** A namespace that only its controller would hold, to empty it, goes when there is nothing to empty. */
  async #removeNamespace(found: Found): Promise<Outcome> {
    const { metadata, spec } = this.#object(found.entry) as DeepReadonly<
      KubeObject & { spec?: { finalizers?: string[] } }
    >;
    const isOwn =
      (metadata.finalizers ?? []).length === 0 && (spec?.finalizers ?? []).every((one) => one === 'kubernetes');
    return isOwn ? this.#remove(found) : this.#delete(found);
  }

  /** A binding that only its controller would hold, to remove what is bound, goes when there is nothing; nor any claim. */
  async #removeBinding(found: Found): Promise<Outcome> {
    const { metadata, status } = this.#object(found.entry) as DeepReadonly<APIBinding>;
    const isOwn =
      (metadata.finalizers ?? []).every((one) => one === apiBindingFinalizer) &&
      (status?.appliedPermissionClaims ?? []).length === 0;
    return isOwn ? this.#remove(found) : this.#delete(found);
  }

  /** Removes an object as it was found, whoever holds it. */
  async #remove(found: Found): Promise<Outcome> {
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

function placeOf(group: string, resource: string): Place {
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
  warn: () => undefined,
});

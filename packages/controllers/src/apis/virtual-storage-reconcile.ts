import {
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExports,
  apiResourceSchemas,
  isCachedResourceStorage,
  resourceReferenceOf,
  skipCachedResourceSliceAnnotation,
  virtualStorageOf,
  virtualStorageProblem,
  type APIExport,
  type APIResourceSchema,
  type CachedResource,
  type CachedResourceEndpointSlice,
  type ExportedResource,
  type KcpCondition,
  type VirtualStorageProblem,
  type VirtualStorageSpec,
} from '@multiplane/apis';
import type { InformerSource, Lister, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import { endpointsOfSlice } from './slice-endpoints.ts';
import { SliceWatches } from './slice-watches.ts';

/** An endpoint slice of any kind, with the resource of its kind; without the object if there is none of this name. */
export interface FoundEndpointSlice {
  readonly resource: GroupVersionResource;
  readonly object: DeepReadonly<KubeObject> | undefined;
}

/** Finds the object that `storage.virtual.reference` names, of any kind that the logical cluster serves. */
export type FindEndpointSlice = (
  cluster: LogicalClusterName,
  reference: DeepReadonly<VirtualStorageSpec>['reference'],
) => Promise<FoundEndpointSlice | 'unknown kind'>;

export interface VirtualStorageModules extends ControllerModules {
  readonly globalInformers: InformerSource;
  /** CachedResources of all shards. */
  readonly cachedResources: PathAndNameLookup<CachedResource>;
  readonly findEndpointSlice: FindEndpointSlice;
  /** Feature gate CacheAPIs: without it nothing is virtual. */
  readonly cacheApis: boolean;
}

type Problem = { readonly reason: string; readonly message: string };
type VirtualResources = NonNullable<NonNullable<APIExport['status']>['virtualResources']>;

/** What one pass found out about an APIExport. */
interface Evaluation {
  /** Of the first resource that has a problem. */
  readonly problem: Problem | undefined;
  /** Endpoints of the resources whose slices are of other kinds than CachedResourceEndpointSlice. */
  readonly virtualResources: VirtualResources;
  /** The kinds of these slices. */
  readonly kinds: readonly GroupVersionResource[];
  readonly hasUnknownKind: boolean;
}

const conditionType = 'VirtualStorageValid';
/** What the provider does about a problem, by its reason. */
const advices: Readonly<Record<VirtualStorageProblem['reason'], string>> = {
  IdentityMismatch: 'correct identityHash in the APIExport',
  APIResourceSchemaInvalid: 'create an APIResourceSchema that fits, and refer to it in the APIExport',
};
/** Interval of checks whether a kind that the workspace did not serve is served now. */
const unknownKindRecheckMs = 10_000;

/**
 * One pass over one APIExport: its condition VirtualStorageValid, and `status.virtualResources` with the endpoints of
 * slices of the provider's own kinds. APIExports are on every shard anyway, so consumers on other shards find the
 * endpoints without another object, informer or request (docs/adr/0081).
 */
export class VirtualStorageReconciler {
  readonly #modules: VirtualStorageModules;
  readonly #exports: Lister<APIExport>;
  readonly #schemas: Lister<APIResourceSchema>;
  readonly #watches: SliceWatches;

  constructor(modules: VirtualStorageModules & { readonly onSliceChange: (reference: ObjectReference) => void }) {
    this.#modules = modules;
    this.#exports = modules.informers.informer<APIExport>(apiExports);
    this.#schemas = modules.globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
    this.#watches = new SliceWatches({ informers: modules.informers, onChange: modules.onSliceChange });
  }

  async reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const object = this.#exports.get(reference);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#watches.set(key, []);
      return;
    }
    const { conditions = [], virtualResources: _replaced, ...status } = object.status ?? {};
    const { problem, virtualResources, kinds, hasUnknownKind } = await this.#evaluate(object, reference.cluster);
    // A new watch begins with events for what exists, so changes since the slice was read are noticed.
    this.#watches.set(key, kinds);
    const changed = this.#conditions(object, conditions, problem);
    if (changed.length > 0 || conditions.length > 0)
      await updateStatus(this.#modules.client, apiExports, reference.cluster, object, {
        ...status,
        conditions: changed,
        ...(virtualResources.length === 0 ? {} : { virtualResources }),
      } as unknown as JsonObject);
    return hasUnknownKind ? unknownKindRecheckMs : undefined;
  }

  #conditions(
    object: DeepReadonly<APIExport>,
    conditions: readonly DeepReadonly<KcpCondition>[],
    problem: Problem | undefined,
  ): readonly DeepReadonly<KcpCondition>[] {
    if (!hasVirtualResources(object)) return conditions.filter(({ type }) => type !== conditionType);
    const condition: NewKcpCondition =
      problem === undefined
        ? { type: conditionType, status: 'True' }
        : { type: conditionType, status: 'False', severity: 'Error', ...problem };
    return setKcpCondition(conditions, condition, new Date(this.#modules.clock.now()));
  }

  async #evaluate(object: DeepReadonly<APIExport>, cluster: LogicalClusterName): Promise<Evaluation> {
    const virtualResources: VirtualResources = [];
    const kinds: GroupVersionResource[] = [];
    let first: Problem | undefined;
    let hasUnknownKind = false;
    for (const resource of object.spec?.resources ?? []) {
      const virtual = virtualStorageOf(resource);
      if (virtual === undefined) continue;
      const { apiGroup = '', kind, name } = virtual.reference;
      const subject = `storage.virtual of resource ${resource.name}`;
      if (!this.#modules.cacheApis) {
        first ??= { reason: 'FeatureDisabled', message: `${subject}: the feature gate CacheAPIs is off` };
        continue;
      }
      const found = await this.#modules.findEndpointSlice(cluster, virtual.reference);
      let problem: Problem | undefined;
      if (found === 'unknown kind') {
        hasUnknownKind = true;
        const message = `${subject}: no matches for kind "${kind}" in group "${apiGroup}" in this workspace; define or bind its API here`;
        problem = { reason: 'UnknownEndpointSliceKind', message };
      } else {
        const isCached = isCachedResourceStorage(virtual);
        if (!isCached) kinds.push(found.resource);
        if (found.object === undefined) {
          const advice = isCached ? this.#sliceAdvice(cluster, name) : 'create it';
          const message = `${subject}: ${kind} "${name}" not found in this workspace; ${advice}`;
          problem = { reason: 'EndpointSliceNotFound', message };
        } else if (isCached) {
          problem = this.#cachedProblem(resource, found.object, cluster, subject);
        } else {
          const endpoints = endpointsOfSlice(found.object, `${subject}: ${kind} "${name}"`);
          if ('reason' in endpoints) problem = endpoints;
          else
            virtualResources.push({
              group: resource.group ?? '',
              name: resource.name,
              endpoints: [...endpoints.endpoints],
            });
        }
      }
      first ??= problem;
    }
    return { problem: first, virtualResources, kinds, hasUnknownKind };
  }

  #sliceAdvice(cluster: LogicalClusterName, name: string): string {
    return this.#lookUp(cluster, name) === undefined
      ? 'create the CachedResource of this name, with which it is made, or the slice itself'
      : `create it, or remove the annotation ${skipCachedResourceSliceAnnotation} of CachedResource ${name}`;
  }

  #cachedProblem(
    resource: DeepReadonly<ExportedResource>,
    slice: DeepReadonly<CachedResourceEndpointSlice>,
    cluster: LogicalClusterName,
    subject: string,
  ): Problem | undefined {
    const { path = '', name: cachedName = '' } = resourceReferenceOf(slice) ?? {};
    const cached = this.#lookUp(path === '' ? cluster : path, cachedName);
    if (cached === undefined) {
      const message = `${subject}: CachedResource "${cachedName}" of CachedResourceEndpointSlice "${slice.metadata.name ?? ''}" not found; create it`;
      return { reason: 'CachedResourceNotFound', message };
    }
    const schema = this.#schemas.get({ cluster, namespace: '', name: resource.schema });
    const problem = virtualStorageProblem(resource, schema, cached);
    if (problem === undefined) return undefined;
    return { reason: problem.reason, message: `${problem.message}; ${advices[problem.reason]}` };
  }

  /** Undefined if it does not exist or several workspaces have the path. */
  #lookUp(path: string, name: string): DeepReadonly<CachedResource> | undefined {
    try {
      return this.#modules.cachedResources.byPathAndName(path, name);
    } catch {
      return undefined;
    }
  }
}

export const hasVirtualResources = ({ spec }: DeepReadonly<APIExport>): boolean =>
  spec?.resources?.some((resource) => virtualStorageOf(resource) !== undefined) ?? false;

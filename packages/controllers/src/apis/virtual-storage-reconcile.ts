import {
  isJsonObject,
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExports,
  apiResourceSchemas,
  isCachedResourceStorage,
  virtualStorageOf,
  virtualStorageProblem,
  type APIExport,
  type APIResourceSchema,
  type CachedResource,
  type CachedResourceEndpointSlice,
  type ExportedResource,
  type VirtualStorageSpec,
} from '@multiplane/apis';
import type { InformerSource, Lister, PathAndNameLookup } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';

/** Finds the object that `storage.virtual.reference` names, of any kind that the logical cluster serves. */
export type FindEndpointSlice = (
  cluster: LogicalClusterName,
  reference: DeepReadonly<VirtualStorageSpec>['reference'],
) => Promise<DeepReadonly<KubeObject> | 'unknown kind' | 'not found'>;

export interface VirtualStorageModules extends ControllerModules {
  readonly globalInformers: InformerSource;
  /** CachedResources of all shards. */
  readonly cachedResources: PathAndNameLookup<CachedResource>;
  readonly findEndpointSlice: FindEndpointSlice;
}

type Problem = { readonly reason: string; readonly message: string };

const conditionType = 'VirtualStorageValid';
/** Interval of checks for endpoint slices of kinds without an informer. */
const recheckMs = 10_000;

/** One pass over one APIExport: sets or removes its condition VirtualStorageValid. */
export class VirtualStorageReconciler {
  readonly #modules: VirtualStorageModules;
  readonly #exports: Lister<APIExport>;
  readonly #schemas: Lister<APIResourceSchema>;

  constructor(modules: VirtualStorageModules) {
    this.#modules = modules;
    this.#exports = modules.informers.informer<APIExport>(apiExports);
    this.#schemas = modules.globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  }

  async reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const object = this.#exports.get(reference);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { conditions = [], ...status } = object.status ?? {};
    const condition = await this.#evaluate(object, reference.cluster);
    const others = conditions.filter(({ type }) => type !== conditionType);
    const changed =
      condition === undefined ? others : setKcpCondition(conditions, condition, new Date(this.#modules.clock.now()));
    if (changed.length > 0 || conditions.length > 0)
      await updateStatus(this.#modules.client, apiExports, reference.cluster, object, {
        ...status,
        conditions: changed,
      } as unknown as JsonObject);
    const isWatched = (object.spec?.resources ?? []).every((resource) => {
      const virtual = virtualStorageOf(resource);
      return virtual === undefined || isCachedResourceStorage(virtual);
    });
    return isWatched ? undefined : recheckMs;
  }

  async #evaluate(object: DeepReadonly<APIExport>, cluster: LogicalClusterName): Promise<NewKcpCondition | undefined> {
    if (!hasVirtualResources(object)) return undefined;
    for (const resource of object.spec?.resources ?? []) {
      const problem = await this.#problemOf(resource, cluster);
      if (problem !== undefined) return { type: conditionType, status: 'False', severity: 'Error', ...problem };
    }
    return { type: conditionType, status: 'True' };
  }

  async #problemOf(
    resource: DeepReadonly<ExportedResource>,
    cluster: LogicalClusterName,
  ): Promise<Problem | undefined> {
    const virtual = virtualStorageOf(resource);
    if (virtual === undefined) return undefined;
    const { apiGroup = '', kind, name } = virtual.reference;
    const slice = await this.#modules.findEndpointSlice(cluster, virtual.reference);
    const subject = `storage.virtual of resource ${resource.name}`;
    if (slice === 'unknown kind') {
      const message = `${subject}: no matches for kind "${kind}" in group "${apiGroup}" in this workspace`;
      return { reason: 'UnknownEndpointSliceKind', message };
    }
    if (slice === 'not found')
      return { reason: 'EndpointSliceNotFound', message: `${subject}: ${kind} "${name}" not found in this workspace` };
    if (!isCachedResourceStorage(virtual)) {
      const { status } = slice as KubeObject & { status?: unknown };
      return isJsonObject(status) && Array.isArray(status['endpoints'])
        ? undefined
        : { reason: 'NoEndpoints', message: `${subject}: ${kind} "${name}" has no status.endpoints` };
    }
    const { spec } = slice as DeepReadonly<CachedResourceEndpointSlice>;
    const { path = '', name: cachedName = '' } = spec?.cachedResource ?? {};
    const cached = this.#lookUp(path === '' ? cluster : path, cachedName);
    if (cached === undefined) {
      const message = `${subject}: CachedResource "${cachedName}" of ${kind} "${name}" not found`;
      return { reason: 'CachedResourceNotFound', message };
    }
    return virtualStorageProblem(
      resource,
      this.#schemas.get({ cluster, namespace: '', name: resource.schema }),
      cached,
    );
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

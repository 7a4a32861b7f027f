import {
  isConditionTrue,
  statusErrors,
  StatusError,
  type Condition,
  type DeepReadonly,
  type GroupResource,
  type KubeObject,
} from '@multiplane/apimachinery';
import {
  apiExports,
  cachedResourceEndpointSlices,
  isCachedResourceStorage,
  type APIExport,
  type CachedResourceEndpointSlice,
  type VirtualStorage,
} from '@multiplane/apis';
import type { Informer, InformerSource } from '@multiplane/client';
import { shards, type Shard } from '@multiplane/controllers';
import { endpointUrls, type EndpointUrls } from './endpoint-urls.ts';

export interface VirtualResourceEndpointsOptions {
  /** URL below which this shard's virtual workspaces are served. */
  readonly virtualWorkspaceUrl: () => string;
  /** Whether servers outside of the control plane may serve virtual resources. */
  readonly allowsExternal: boolean;
}

/** What was resolved from one status, as long as neither it nor the Shards change. */
interface Resolved {
  readonly key: string;
  readonly endpoints: EndpointUrls;
}

/**
 * Finds where a virtual resource is served, from memory: CachedResourceEndpointSlices and APIExports of all shards are in
 * informers, and slices of other kinds are in `status.virtualResources` of their APIExport (docs/adr/0081).
 */
export class VirtualResourceEndpoints {
  readonly #options: VirtualResourceEndpointsOptions;
  readonly #slices: Informer<CachedResourceEndpointSlice>;
  readonly #exports: Informer<APIExport>;
  readonly #shards: Informer<Shard>;
  readonly #resolved = new WeakMap<object, Resolved>();
  /** Virtual workspace URLs of all shards; undefined after a change. */
  #allUrls: readonly string[] | undefined;
  #shardsState = 0;

  constructor(options: VirtualResourceEndpointsOptions, modules: { readonly globalInformers: InformerSource }) {
    const { globalInformers } = modules;
    this.#options = options;
    this.#slices = globalInformers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices);
    this.#exports = globalInformers.informer<APIExport>(apiExports);
    this.#shards = globalInformers.informer<Shard>(shards);
    const changed = (): void => {
      this.#shardsState++;
      this.#allUrls = undefined;
    };
    this.#shards.addHandlers({ added: changed, updated: changed, deleted: changed, onlyInvalidates: true });
  }

  /** Throws StatusError 500, which names what is missing, if the resource has no endpoint for this shard. */
  of(resource: GroupResource, virtual: VirtualStorage): EndpointUrls {
    return isCachedResourceStorage(virtual) ? this.#ofCached(resource, virtual) : this.#ofExport(resource, virtual);
  }

  #ofCached(resource: GroupResource, virtual: VirtualStorage): EndpointUrls {
    const { cluster } = virtual.export;
    const { name } = virtual.reference;
    const slice = this.#slices.get({ cluster, namespace: '', name });
    if (slice === undefined) throw notFound(virtual);
    // The replication virtual workspace tells the APIExports of one slice apart by their identities.
    const suffix = `:${virtual.exportIdentity}`;
    try {
      return this.#resolve(slice, slice.status, resource, suffix, false);
    } catch (error) {
      // The first consumer of this shard may be faster than the publication of this shard's URL.
      if (!(error instanceof StatusError) || !isServedEverywhere(slice)) throw error;
      const base = this.#options.virtualWorkspaceUrl().replace(/\/+$/, '');
      const url = `${base}/services/replication/${cluster}/${name}`;
      return this.#resolve(slice, { endpoints: [{ url }] }, resource, suffix, false);
    }
  }

  #ofExport(resource: GroupResource, virtual: VirtualStorage): EndpointUrls {
    const { cluster, name } = virtual.export;
    const object = this.#exports.get({ cluster, namespace: '', name });
    const entry = object?.status?.virtualResources?.find(
      (one) => one.group === resource.group && one.name === resource.resource,
    );
    if (object !== undefined && entry !== undefined)
      return this.#resolve(entry, entry, resource, '', this.#options.allowsExternal);
    const condition = object?.status?.conditions?.find(({ type }) => type === 'VirtualStorageValid');
    if (condition?.status !== 'False') throw notFound(virtual);
    throw statusErrors.internal(new Error(`error resolving resource: ${condition.message ?? condition.reason ?? ''}`));
  }

  #resolve(
    source: DeepReadonly<KubeObject> | object,
    status: unknown,
    resource: GroupResource,
    suffix: string,
    allowsExternal: boolean,
  ): EndpointUrls {
    const own = this.#options.virtualWorkspaceUrl();
    const key = `${this.#shardsState} ${own} ${suffix}`;
    const known = this.#resolved.get(source);
    if (known?.key === key) return known.endpoints;
    this.#allUrls ??= this.#shards.list().map(({ spec }) => spec.virtualWorkspaceURL ?? '');
    const others = this.#allUrls.filter((url) => url !== own);
    const { urls, isExternal } = endpointUrls(status, { own, others, allowsExternal }, resource);
    const endpoints =
      suffix === '' ? { urls, isExternal } : { urls: urls.map((url) => withSuffix(url, suffix)), isExternal };
    this.#resolved.set(source, { key, endpoints });
    return endpoints;
  }
}

const withSuffix = ({ href }: URL, suffix: string): URL => new URL(`${href.replace(/\/+$/, '')}${suffix}`);

function isServedEverywhere({ status }: DeepReadonly<CachedResourceEndpointSlice>): boolean {
  const conditions = (status?.conditions ?? []) as readonly Condition[];
  return (
    (status?.shardSelector ?? '') === '' &&
    ['ResourceValid', 'APIExportValid', 'PartitionValid'].every((type) => isConditionTrue(conditions, type))
  );
}

/** kcp's text for an endpoint slice that cannot be read. */
function notFound({ reference }: VirtualStorage): StatusError {
  const { apiGroup, kind, name } = reference;
  const resource = `${kind.toLowerCase()}s${apiGroup === '' ? '' : `.${apiGroup}`}`;
  return statusErrors.internal(new Error(`error resolving resource: ${resource} "${name}" not found`));
}

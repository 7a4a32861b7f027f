import {
  isConditionTrue,
  type Condition,
  type DeepReadonly,
  type GroupResource,
  type KubeObject,
} from '@multiplane/apimachinery';
import {
  apiExports,
  cachedResourceEndpointSlices,
  isCachedResourceStorage,
  virtualResourceUnavailable,
  type APIExport,
  type CachedResourceEndpointSlice,
  type VirtualStorage,
} from '@multiplane/apis';
import type { Informer, InformerSource } from '@multiplane/client';
import { shards, type Shard } from '@multiplane/controllers';
import { EndpointError, endpointUrls, type EndpointUrls } from './endpoint-urls.ts';

export interface VirtualResourceEndpointsOptions {
  readonly shardName: string;
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
  /** Labels of this shard, filled with {@link #allUrls}. Every shard has its name among them, also before its Shard is known. */
  #labels: Readonly<Record<string, string>> = {};
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

  /**
   * Throws StatusError 503 if the resource has no endpoint for this shard. Clients retry only while what is missing may still
   * appear: as long as no condition of the slice or the export says what is wrong.
   */
  of(resource: GroupResource, virtual: VirtualStorage): EndpointUrls {
    return isCachedResourceStorage(virtual) ? this.#ofCached(resource, virtual) : this.#ofExport(resource, virtual);
  }

  #exportOf({ export: { cluster, name } }: VirtualStorage): DeepReadonly<APIExport> | undefined {
    return this.#exports.get({ cluster, namespace: '', name });
  }

  #ofCached(resource: GroupResource, virtual: VirtualStorage): EndpointUrls {
    const { cluster } = virtual.export;
    const { name } = virtual.reference;
    const slice = this.#slices.get({ cluster, namespace: '', name });
    if (slice === undefined) {
      // The slice of an export on another shard may arrive later than the export; a condition tells that there is none.
      const mayRecover = !isInvalid(this.#exportOf(virtual));
      throw virtualResourceUnavailable(resource, virtual.export, { mayRecover });
    }
    // The replication virtual workspace tells the APIExports of one slice apart by their identities.
    const suffix = `:${virtual.exportIdentity}`;
    try {
      return this.#resolve(slice, slice.status, suffix, false);
    } catch (error) {
      // The first consumer of this shard may be faster than the publication of this shard's URL.
      if (!(error instanceof EndpointError)) throw error;
      if (!isServedEverywhere(slice)) {
        // The slice may have been looked at before its export was there, so APIExportValid tells nothing new.
        const found = slice.status?.conditions?.filter(({ type }) => type !== 'APIExportValid');
        const mayRecover = error.isMissing && !hasFailed(found) && !isInvalid(this.#exportOf(virtual));
        throw virtualResourceUnavailable(resource, virtual.export, { mayRecover, cause: error });
      }
      const base = this.#options.virtualWorkspaceUrl().replace(/\/+$/, '');
      const url = `${base}/services/replication/${cluster}/${name}`;
      return this.#resolve(slice, { endpoints: [{ url }] }, suffix, false);
    }
  }

  #ofExport(resource: GroupResource, virtual: VirtualStorage): EndpointUrls {
    const object = this.#exportOf(virtual);
    const entry = object?.status?.virtualResources?.find(
      (one) => one.group === resource.group && one.name === resource.resource,
    );
    if (entry === undefined)
      throw virtualResourceUnavailable(resource, virtual.export, { mayRecover: !isInvalid(object) });
    try {
      return this.#resolve(entry, entry, '', this.#options.allowsExternal);
    } catch (error) {
      if (!(error instanceof EndpointError)) throw error;
      throw virtualResourceUnavailable(resource, virtual.export, { mayRecover: false, cause: error });
    }
  }

  #readShards(): readonly string[] {
    const all = this.#shards.list();
    const { shardName } = this.#options;
    this.#labels = all.find(({ metadata }) => metadata.name === shardName)?.metadata.labels ?? { name: shardName };
    return all.map(({ spec }) => spec.virtualWorkspaceURL ?? '');
  }

  #resolve(
    source: DeepReadonly<KubeObject> | object,
    status: unknown,
    suffix: string,
    allowsExternal: boolean,
  ): EndpointUrls {
    const own = this.#options.virtualWorkspaceUrl();
    const key = `${this.#shardsState} ${own} ${suffix}`;
    const known = this.#resolved.get(source);
    if (known?.key === key) return known.endpoints;
    this.#allUrls ??= this.#readShards();
    const others = this.#allUrls.filter((url) => url !== own);
    const { urls, isExternal } = endpointUrls(status, { own, others, labels: this.#labels, allowsExternal });
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

const hasFailed = (conditions: readonly { readonly type: string; readonly status: string }[] = []): boolean =>
  conditions.some(({ status }) => status === 'False');

const isInvalid = (object: DeepReadonly<APIExport> | undefined): boolean =>
  hasFailed(object?.status?.conditions?.filter(({ type }) => type === 'VirtualStorageValid'));

import {
  anonymousUserName,
  groupResourceText,
  isConditionTrue,
  statusErrors,
  StatusError,
  type Condition,
  type DeepReadonly,
} from '@multiplane/apimachinery';
import {
  cachedResourceEndpointSlices,
  isCachedResourceStorage,
  type CachedResourceEndpointSlice,
  type VirtualStorage,
} from '@multiplane/apis';
import type { EmbeddedServer, ResourceRequest, ResourceResolver } from '@multiplane/apiserver';
import type { InformerSource } from '@multiplane/client';
import type { Runnable } from '@multiplane/component-base';
import type { FindEndpointSlice } from '@multiplane/controllers';
import {
  CancellableExchange,
  defaultIdentityHeaderNames,
  identityHeaders,
  isLongRunning,
  type Exchange,
  type RequestContext,
} from '@multiplane/generic-server';
import { HeaderFilter, ReverseProxy, UpstreamError, type UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import { endpointUrl } from './endpoint-url.ts';

export interface VirtualResourceProxyOptions {
  /** URL below which this shard's virtual workspaces are served; endpoints of other shards are not used. */
  readonly virtualWorkspaceUrl: () => string;
}

export interface VirtualResourceProxyModules {
  /** Endpoint slices of all shards. */
  readonly globalInformers: InformerSource;
  /** Finds endpoint slices of other kinds; of logical clusters of this shard. */
  readonly findEndpointSlice: FindEndpointSlice;
  readonly resolver: Pick<ResourceResolver, 'whenReplaced'>;
  /** The shard's identity towards virtual workspaces in another process; absent: they run in this one. */
  readonly identity?: UpstreamIdentitySource | undefined;
}

const { user: userHeader, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const credentials = new HeaderFilter({
  names: ['authorization', userHeader, group, uid],
  prefixes: ['impersonate-', extraPrefix],
});

/**
 * Serves virtual resources: the authorized request is forwarded to the virtual workspace that the endpoint slice of the
 * APIExport names, for the logical cluster of the request. Bodies and watches pass through unchanged.
 *
 *   <endpoint URL>[:<export identity>]/clusters/<cluster or *><path of the request>
 *
 * The virtual workspace gets the identity of the caller and authorizes it again. kcp forwards the shard's identity, with
 * which an endpoint slice could reach every virtual workspace with all rights.
 */
export class VirtualResourceProxy implements Runnable {
  readonly name = 'virtual resource proxy';
  readonly #options: VirtualResourceProxyOptions;
  readonly #modules: VirtualResourceProxyModules;
  readonly #proxy: ReverseProxy | undefined;
  #dispatch: EmbeddedServer['dispatch'];

  constructor(options: VirtualResourceProxyOptions, modules: VirtualResourceProxyModules) {
    this.#options = options;
    this.#modules = modules;
    if (modules.identity !== undefined) this.#proxy = new ReverseProxy({}, { identity: modules.identity });
  }

  /** Uses the virtual workspaces of this process. */
  adopt(server: EmbeddedServer): void {
    this.#dispatch ??= server.dispatch?.bind(server);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    await this.#proxy?.close();
  }

  async handle({ context, definition, cluster }: ResourceRequest, virtual: VirtualStorage): Promise<void> {
    const endpoint = await this.#endpoint(context, virtual);
    const { exchange, info } = context;
    const query = exchange.url.indexOf('?');
    const suffix = isCachedResourceStorage(virtual) ? `:${virtual.exportIdentity}` : '';
    const resourcePath = withoutIdentity(info.path, definition.resource);
    const path = `${suffix}/clusters/${cluster}${resourcePath}${query < 0 ? '' : exchange.url.slice(query)}`;
    if (!isLongRunning(info)) return this.#forward(context, exchange, { endpoint, path, virtual });
    // A watch ends properly when its binding or definition goes, as one of a stored resource does.
    const replaced = new AbortController();
    const end = (): void => replaced.abort();
    const release = cluster === '*' ? undefined : this.#modules.resolver.whenReplaced?.(cluster, definition, end);
    definition.retired?.addEventListener('abort', end, { once: true });
    const watched = new CancellableExchange(exchange, replaced.signal);
    try {
      await this.#forward(context, watched, { endpoint, path, virtual });
    } finally {
      watched.release();
      release?.();
      definition.retired?.removeEventListener('abort', end);
    }
  }

  async #forward(
    context: RequestContext,
    exchange: Exchange,
    { endpoint, path, virtual }: { readonly endpoint: URL; readonly path: string; readonly virtual: VirtualStorage },
  ): Promise<void> {
    const { info, user } = context;
    if (this.#dispatch !== undefined)
      return this.#dispatch(exchange, user, `${endpoint.pathname.replace(/\/+$/, '')}${path}`);
    if (this.#proxy === undefined) throw unavailable(context, virtual);
    const headers = user.name === anonymousUserName ? [] : identityHeaders(user, defaultIdentityHeaderNames);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be forwarded');
    const url = new URL(endpoint.origin);
    try {
      await this.#proxy.forward(exchange, {
        url,
        path: `${endpoint.pathname.replace(/\/+$/, '')}${path}`,
        headers,
        dropHeaders: credentials,
        longRunning: isLongRunning(info),
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      throw error.status === 503
        ? unavailable(context, virtual)
        : statusErrors.internal(new Error('error serving resource', { cause: error }));
    }
  }

  async #endpoint(context: RequestContext, virtual: VirtualStorage): Promise<URL> {
    const { info } = context;
    const base = this.#options.virtualWorkspaceUrl();
    const { cluster } = virtual.export;
    const { name } = virtual.reference;
    if (!isCachedResourceStorage(virtual)) {
      const slice = await this.#modules.findEndpointSlice(cluster, virtual.reference);
      if (typeof slice === 'string') throw unresolved(virtual, slice);
      return endpointUrl(slice, base, info);
    }
    const slice = this.#modules.globalInformers
      .informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices)
      .get({ cluster, namespace: '', name });
    if (slice === undefined) throw unresolved(virtual, 'not found');
    try {
      return endpointUrl(slice, base, info);
    } catch (error) {
      // The first consumer of this shard may be faster than the publication of this shard's URL.
      if (error instanceof StatusError && isServedEverywhere(slice))
        return new URL(`${base.replace(/\/+$/, '')}/services/replication/${cluster}/${name}`);
      throw error;
    }
  }
}

function isServedEverywhere({ status }: DeepReadonly<CachedResourceEndpointSlice>): boolean {
  const conditions = (status?.conditions ?? []) as readonly Condition[];
  return (
    (status?.shardSelector ?? '') === '' &&
    ['ResourceValid', 'APIExportValid', 'PartitionValid'].every((type) => isConditionTrue(conditions, type))
  );
}

/** Over all logical clusters the path names the identity, which the virtual workspace knows from its own path. */
function withoutIdentity(path: string, resource: string): string {
  const segments = path.split('/');
  const at = segments.findIndex((segment) => segment.startsWith(`${resource}:`));
  if (at < 0) return path;
  segments[at] = resource;
  return segments.join('/');
}

function unavailable({ info }: RequestContext, { export: { path, name } }: VirtualStorage): StatusError {
  return statusErrors.serviceUnavailable(
    `the virtual workspace that serves ${groupResourceText(info)} of APIExport ${path}:${name} is unavailable`,
    1,
  );
}

/** kcp's text for an endpoint slice that cannot be read. */
function unresolved({ reference }: VirtualStorage, why: string): StatusError {
  const { apiGroup, kind, name } = reference;
  const resource = `${kind.toLowerCase()}s${apiGroup === '' ? '' : `.${apiGroup}`}`;
  return statusErrors.internal(new Error(`error resolving resource: ${resource} "${name}" ${why}`));
}

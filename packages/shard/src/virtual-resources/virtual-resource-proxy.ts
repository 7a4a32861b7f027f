import { groupResourceText, parseJson, statusErrors, type StatusError } from '@multiplane/apimachinery';
import { virtualResourceUnavailable, type VirtualStorage } from '@multiplane/apis';
import {
  checkRequiredLabels,
  requiredFieldsParameter,
  requiredLabelsParameter,
  type ResourceRequest,
  type ResourceResolver,
} from '@multiplane/apiserver';
import { statusErrorOfResponse } from '@multiplane/client';
import {
  BufferedExchange,
  CancellableExchange,
  isLongRunning,
  ProxiedExchange,
  type Exchange,
  type RequestContext,
} from '@multiplane/generic-server';
import { UpstreamError } from '@multiplane/reverse-proxy';
import { EndpointError, type EndpointUrls } from './endpoint-urls.ts';
import type { VirtualResourceBackends } from './virtual-resource-backends.ts';
import type { VirtualResourceEndpoints } from './virtual-resource-endpoints.ts';

interface Target {
  readonly endpoints: EndpointUrls;
  readonly path: string;
  readonly virtual: VirtualStorage;
}

export interface VirtualResourceProxyModules {
  readonly endpoints: Pick<VirtualResourceEndpoints, 'of'>;
  readonly backends: Pick<VirtualResourceBackends, 'forward'>;
  readonly resolver: Pick<ResourceResolver, 'whenReplaced'>;
}

/**
 * Serves virtual resources: the authorized request is forwarded to the virtual workspace that the endpoint slice of the
 * APIExport names, for the logical cluster of the request. Bodies and watches pass through unchanged.
 *
 *   <endpoint URL>[:<export identity>]/clusters/<cluster or *><path of the request>
 *
 * The virtual workspace gets the identity of the caller and authorizes it again. kcp forwards the shard's identity, with
 * which an endpoint slice could reach every virtual workspace with all rights.
 */
export class VirtualResourceProxy {
  readonly #modules: VirtualResourceProxyModules;

  constructor(modules: VirtualResourceProxyModules) {
    this.#modules = modules;
  }

  async handle(request: ResourceRequest, virtual: VirtualStorage): Promise<void> {
    const { context, definition, cluster } = request;
    const { exchange, info } = context;
    const endpoints = this.#modules.endpoints.of(info, virtual);
    // Objects of a virtual resource are stored elsewhere; unchecked ones must not be returned.
    if (info.query.has(requiredFieldsParameter))
      throw statusErrors.badRequest(`${requiredFieldsParameter} is not supported for virtual resources`);
    const query = exchange.url.indexOf('?');
    const resourcePath = withoutIdentity(info.path, definition.resource);
    const path = `/clusters/${cluster}${resourcePath}${query < 0 ? '' : exchange.url.slice(query)}`;
    if (info.verb === 'get' && info.query.has(requiredLabelsParameter))
      await this.#requireLabels(request, { endpoints, path, virtual });
    if (!isLongRunning(info)) return this.#forward(context, exchange, { endpoints, path, virtual });
    // A watch ends properly when its binding or definition goes, as one of a stored resource does.
    const replaced = new AbortController();
    const end = (): void => replaced.abort();
    const release = cluster === '*' ? undefined : this.#modules.resolver.whenReplaced?.(cluster, definition, end);
    definition.retired?.addEventListener('abort', end, { once: true });
    const watched = new CancellableExchange(exchange, replaced.signal, context.signal);
    try {
      await this.#forward(context, watched, { endpoints, path, virtual });
    } finally {
      watched.release();
      release?.();
      definition.retired?.removeEventListener('abort', end);
    }
  }

  /** The virtual workspace may be a foreign program, which ignores the parameter: the object is read once more. */
  async #requireLabels(request: ResourceRequest, target: Target): Promise<void> {
    const { context } = request;
    const headers = { accept: 'application/json' };
    const read = new BufferedExchange(context.exchange, target.path, { method: 'GET', headers });
    await this.#forward(context, read, target);
    const { status, body } = await read.response();
    if (status !== 200) throw statusErrorOfResponse(status, body.toString());
    const { metadata } = parseJson(body.toString()) as { metadata?: { labels?: Record<string, string> } };
    checkRequiredLabels(request, () => metadata?.labels ?? {});
  }

  async #forward(context: RequestContext, exchange: Exchange, target: Target): Promise<void> {
    const { info, user } = context;
    const { endpoints, path, virtual } = target;
    try {
      await this.#modules.backends.forward(new ProxiedExchange(exchange), endpoints, {
        path,
        user,
        longRunning: isLongRunning(info),
      });
    } catch (error) {
      if (error instanceof EndpointError)
        throw virtualResourceUnavailable(info, virtual.export, { mayRecover: false, cause: error });
      if (!(error instanceof UpstreamError)) throw error;
      throw error.status === 503
        ? unavailable(context, virtual)
        : statusErrors.internal(new Error('error serving resource', { cause: error }));
    }
  }
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

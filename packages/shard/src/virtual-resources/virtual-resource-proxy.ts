import { mastersGroup, statusErrors, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { identityHeaders, isLongRunning, type IdentityHeaderNames, type RequestContext } from '@multiplane/apiserver';
import { UpstreamError, type HeaderFilter, type ReverseProxy } from '@multiplane/reverse-proxy';
import { endpointUrl } from './endpoint-url.ts';

export interface VirtualResourceProxyOptions {
  /** `--shard-virtual-workspace-url`: what the endpoints of this shard begin with. */
  readonly virtualWorkspaceUrl: () => string;
  /** How the server behind is told who asks. */
  readonly identityHeaders: IdentityHeaderNames;
}

export interface VirtualResourceProxyModules {
  readonly proxy: Pick<ReverseProxy, 'forward'>;
  /** What must not come from the client: everything that says who it is. */
  readonly dropHeaders: HeaderFilter;
}

/**
 * Serves resources whose objects are somewhere else (C9.3, 7): requests go on to the virtual workspace that an endpoint
 * slice names, for the logical cluster they came for, bytes and watches untouched.
 *
 * The shard has authorized the request by then. The server behind is told who made it, for its audit, with the shard's
 * rights: what the user may do there was decided here.
 */
export class VirtualResourceProxy {
  readonly #options: VirtualResourceProxyOptions;
  readonly #modules: VirtualResourceProxyModules;
  constructor(options: VirtualResourceProxyOptions, modules: VirtualResourceProxyModules) {
    this.#options = options;
    this.#modules = modules;
  }

  async forward(context: RequestContext, slice: DeepReadonly<KubeObject>): Promise<void> {
    const { exchange, info, user } = context;
    const url = endpointUrl(slice, this.#options.virtualWorkspaceUrl(), info);
    const { name, uid } = user;
    const headers = identityHeaders({ name, uid, groups: [mastersGroup], extra: {} }, this.#options.identityHeaders);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be passed on');
    const query = exchange.url.indexOf('?');
    try {
      await this.#modules.proxy.forward(exchange, {
        url,
        path: `/clusters/${info.cluster}${info.path}${query < 0 ? '' : exchange.url.slice(query)}`,
        headers,
        dropHeaders: this.#modules.dropHeaders,
        longRunning: isLongRunning(info),
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      throw error.status === 503
        ? statusErrors.serviceUnavailable('the resource is served elsewhere, where nobody answers', 1)
        : statusErrors.internal(new Error('error serving resource', { cause: error }));
    }
  }
}

import { anonymousUserName, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import {
  defaultIdentityHeaderNames,
  identityHeaders,
  isLongRunning,
  type Exchange,
  type Filter,
  type RequestContext,
} from '@multiplane/apiserver';
import type { Runnable } from '@multiplane/component-base';
import {
  HeaderFilter,
  mountTarget,
  ReverseProxy,
  UpstreamError,
  type MountTarget,
  type UpstreamIdentitySource,
} from '@multiplane/reverse-proxy';

interface MountProxyOptions {
  /** Origins at which this shard itself, or the front-proxy before it, is reached. */
  readonly ownOrigins: () => readonly string[];
  /** Whether the other side is shown a certificate, and told who asks. */
  readonly tellsIdentity: boolean;
}

const { user, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const identity = { names: [user, group, uid], prefixes: [extraPrefix] };
const credentials = new HeaderFilter({
  names: ['authorization', 'cookie', ...identity.names],
  prefixes: ['impersonate-', ...identity.prefixes],
});
const identityOnly = new HeaderFilter(identity);

/**
 * Requests for mounted workspaces (C11.6, C11.7), without a front-proxy: they go on to the address of the mount, with
 * what the request has behind its workspace.
 *
 * Tenants write these addresses, so the caller's credentials stay here, unlike in the reference. A server elsewhere is told
 * in headers who asks, when `--mount-proxy-client-cert-file` lets it believe that; else it hears of nobody. An address of
 * this very control plane gets the request as it came, token and all: it knows the caller as well as this shard does.
 */
export class MountProxy implements Runnable {
  readonly name = 'mounts';
  readonly #options: MountProxyOptions;
  readonly #proxy: ReverseProxy;
  /** Taken off by authentication; by the headers, which stay the same object under whatever wraps the exchange. */
  readonly #tokens = new WeakMap<Exchange['headers'], string>();

  constructor(options: MountProxyOptions, modules: { readonly identity: UpstreamIdentitySource }) {
    this.#options = options;
    this.#proxy = new ReverseProxy({}, { identity: modules.identity });
  }

  async start(): Promise<void> {}
  stop(): Promise<void> {
    return this.#proxy.close();
  }

  /** Before authentication: keeps the token of a request that may have to go on with it. */
  readonly keepToken: Filter = (next) => (context) => {
    const { headers } = context.exchange;
    const token = headers['authorization'];
    if (context.mount !== undefined && typeof token === 'string') this.#tokens.set(headers, token);
    return next(context);
  };

  /** Behind it: sends the requests of mounted workspaces on. */
  readonly forward: Filter = (next) => (context) => {
    const { mount } = context;
    if (mount === undefined) return next(context);
    let target: MountTarget | undefined;
    try {
      target = mountTarget(mount.url, mount.rest);
    } catch {
      throw statusErrors.serviceUnavailable('the workspace is mounted from where it must not be');
    }
    if (target === undefined) throw statusErrors.notFound({ group: 'tenancy.kcp.io', resource: 'workspaces' }, '');
    return this.#send(context, target);
  };

  async #send({ exchange, info, user: caller }: RequestContext, { url, path }: MountTarget): Promise<void> {
    const mark = exchange.url.indexOf('?');
    const query = mark < 0 ? '' : exchange.url.slice(mark);
    const token = this.#options.ownOrigins().includes(url.origin) ? this.#tokens.get(exchange.headers) : undefined;
    try {
      await this.#proxy.forward(exchange, {
        url,
        path: `${path}${info.path}${query}`,
        headers: token === undefined ? this.#identity(caller) : ['authorization', token],
        dropHeaders: token === undefined ? credentials : identityOnly,
        longRunning: isLongRunning(info),
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      throw error.status === 503
        ? statusErrors.serviceUnavailable('what the workspace is mounted from does not answer', 1)
        : statusErrors.untyped(error.message, error.status);
    }
  }

  #identity(caller: UserInfo): string[] {
    if (!this.#options.tellsIdentity || caller.name === anonymousUserName) return [];
    const headers = identityHeaders(caller, defaultIdentityHeaderNames);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be passed on');
    return headers;
  }
}

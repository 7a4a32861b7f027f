import { anonymousUserName, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import type { Runnable } from '@multiplane/component-base';
import {
  defaultIdentityHeaderNames,
  type Exchange,
  type Filter,
  identityHeaders,
  isLongRunning,
  type RequestContext,
} from '@multiplane/generic-server';
import {
  HeaderFilter,
  mountTarget,
  ReverseProxy,
  UpstreamError,
  type MountTarget,
  type UpstreamIdentitySource,
} from '@multiplane/reverse-proxy';

interface MountProxyOptions {
  /** Origins of this shard and of the front-proxy. */
  readonly ownOrigins: () => readonly string[];
  /** Whether the proxy authenticates with a client certificate and forwards the user in headers. */
  readonly forwardsIdentity: boolean;
}

const { user, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const identity = { names: [user, group, uid], prefixes: [extraPrefix] };
const credentials = new HeaderFilter({
  names: ['authorization', 'cookie', ...identity.names],
  prefixes: ['impersonate-', ...identity.prefixes],
});
const identityOnly = new HeaderFilter(identity);

/**
 * Proxies requests for mounted workspaces to the URL of the mount, with the rest of the path (kcp `pkg/server/localproxy.go`).
 * With a front-proxy, that one does it instead.
 *
 * Tenants choose the URLs, so the caller's credentials are removed, unlike in kcp. An external target gets the user in headers
 * if `--mount-proxy-client-cert-file` lets it trust them, else no identity. A URL of this control plane gets the request with
 * its original token, since it authenticates the caller itself.
 */
export class MountProxy implements Runnable {
  readonly name = 'mounts';
  readonly #options: MountProxyOptions;
  readonly #proxy: ReverseProxy;
  /** Tokens, which authentication removes; keyed by the headers object, which all wrappers of an exchange share. */
  readonly #tokens = new WeakMap<Exchange['headers'], string>();

  constructor(options: MountProxyOptions, modules: { readonly identity: UpstreamIdentitySource }) {
    this.#options = options;
    this.#proxy = new ReverseProxy({}, { identity: modules.identity });
  }

  async start(): Promise<void> {}
  stop(): Promise<void> {
    return this.#proxy.close();
  }

  /** Runs before authentication: remembers the token of a request to a mounted workspace. */
  readonly keepToken: Filter = (next) => (context) => {
    const { headers } = context.exchange;
    const token = headers['authorization'];
    if (context.mount !== undefined && typeof token === 'string') this.#tokens.set(headers, token);
    return next(context);
  };

  /** Runs after authentication: proxies requests to mounted workspaces. */
  readonly forward: Filter = (next) => (context) => {
    const { mount } = context;
    if (mount === undefined) return next(context);
    let target: MountTarget | undefined;
    try {
      target = mountTarget(mount.url, mount.rest);
    } catch {
      throw statusErrors.serviceUnavailable('the URL of the workspace mount is not allowed');
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
        ? statusErrors.serviceUnavailable('the target of the workspace mount does not respond', 1)
        : statusErrors.untyped(error.message, error.status);
    }
  }

  #identity(caller: UserInfo): string[] {
    if (!this.#options.forwardsIdentity || caller.name === anonymousUserName) return [];
    const headers = identityHeaders(caller, defaultIdentityHeaderNames);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be forwarded in a header');
    return headers;
  }
}

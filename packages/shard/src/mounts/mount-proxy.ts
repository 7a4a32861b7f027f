import { anonymousUserName, statusErrors, type UserInfo } from '@multiplane/apimachinery';
import type { Runnable } from '@multiplane/component-base';
import {
  CancellableExchange,
  defaultIdentityHeaderNames,
  policyLookup,
  type AddressPolicy,
  type Exchange,
  type Filter,
  identityHeaders,
  isLongRunning,
  type RequestContext,
} from '@multiplane/generic-server';
import {
  HeaderFilter,
  hopsHeader,
  hopsOf,
  maxMountHops,
  mountedCluster,
  mountTarget,
  mountUnreachable,
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

/** Passes a request to another logical cluster of this shard, as an authenticated user. */
type Dispatch = (exchange: Exchange, user: UserInfo, url: string) => Promise<void>;

const { user, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const credentials = new HeaderFilter({
  names: ['authorization', 'cookie', user, group, uid],
  prefixes: ['impersonate-', extraPrefix],
});

/**
 * Proxies requests for mounted workspaces to the URL of the mount, with the rest of the path (kcp `pkg/server/localproxy.go`).
 * With a front-proxy, that one does it instead.
 *
 * Tenants choose the URLs, so the token of the caller goes nowhere, unlike in kcp:
 *
 * - A logical cluster of this shard: the request passes the handler chain again, in this process, as the user that was
 *   authenticated. No other path of this control plane can be mounted.
 * - Another server, at an address that the policy for webhooks allows: with the user in headers if
 *   `--mount-proxy-client-cert-file` lets the server trust them, else without an identity.
 *
 * A request with impersonation headers is refused: without them it would be one of the caller itself.
 */
export class MountProxy implements Runnable {
  readonly name = 'mounts';
  readonly #options: MountProxyOptions;
  readonly #policy: AddressPolicy;
  readonly #proxy: ReverseProxy;
  #dispatch: Dispatch | undefined;

  constructor(
    options: MountProxyOptions,
    modules: { readonly identity: UpstreamIdentitySource; readonly policy: AddressPolicy },
  ) {
    this.#options = options;
    this.#policy = modules.policy;
    this.#proxy = new ReverseProxy({}, { identity: modules.identity, lookup: policyLookup(modules) });
  }

  /** Sets the way to logical clusters of this shard: the handler chain, of which this proxy is a part. */
  adopt(dispatch: Dispatch): void {
    this.#dispatch = dispatch;
  }

  async start(): Promise<void> {}
  stop(): Promise<void> {
    return this.#proxy.close();
  }

  /** Runs after authentication: proxies requests to mounted workspaces. */
  readonly forward: Filter = (next) => (context) => {
    const { mount, exchange } = context;
    if (mount === undefined) return next(context);
    const workspace = { group: 'tenancy.kcp.io', resource: 'workspaces' };
    for (const name in exchange.headers)
      if (name.startsWith('impersonate-') && exchange.headers[name] !== undefined)
        throw statusErrors.forbidden(workspace, '', 'a mounted workspace cannot be accessed by impersonation');
    let target: MountTarget | undefined;
    try {
      target = mountTarget(mount.url, mount.rest);
    } catch {
      throw statusErrors.serviceUnavailable(mountUnreachable);
    }
    if (target === undefined) throw statusErrors.notFound(workspace, '');
    const found = target;
    const send = (exchange: Exchange): Promise<void> =>
      this.#options.ownOrigins().includes(found.url.origin)
        ? this.#sendHere(exchange, context, found)
        : this.#sendOut(exchange, context, found);
    return isLongRunning(context.info) ? watched(context, send) : send(exchange);
  };

  async #sendHere(exchange: Exchange, { info, user: caller }: RequestContext, { path }: MountTarget): Promise<void> {
    const hops = hopsOf(exchange.headers) + 1;
    if (hops > maxMountHops) throw statusErrors.untyped('the request passed too many mounts', 508);
    if (this.#dispatch === undefined || mountedCluster(path) === undefined)
      throw statusErrors.serviceUnavailable(mountUnreachable);
    (exchange.headers as Record<string, string>)[hopsHeader] = String(hops);
    await this.#dispatch(exchange, caller, `${path}${info.path}${queryOf(exchange)}`);
  }

  async #sendOut(
    exchange: Exchange,
    { info, user: caller }: RequestContext,
    { url, path }: MountTarget,
  ): Promise<void> {
    if (!this.#policy.allowsHost(url.hostname)) throw statusErrors.serviceUnavailable(mountUnreachable);
    try {
      await this.#proxy.forward(exchange, {
        url,
        path: `${path}${info.path}${queryOf(exchange)}`,
        headers: this.#identity(caller),
        dropHeaders: credentials,
        longRunning: isLongRunning(info),
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      throw error.failure === 'loop'
        ? statusErrors.untyped(error.message, error.status)
        : statusErrors.serviceUnavailable(mountUnreachable);
    }
  }

  #identity(caller: UserInfo): string[] {
    if (!this.#options.forwardsIdentity || caller.name === anonymousUserName) return [];
    const headers = identityHeaders(caller, defaultIdentityHeaderNames);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be forwarded in a header');
    return headers;
  }
}

/** Ends the response when the caller loses its access, or the server stops. */
async function watched(
  { exchange, signal }: RequestContext,
  send: (exchange: Exchange) => Promise<void>,
): Promise<void> {
  const cancellable = new CancellableExchange(exchange, signal);
  try {
    await send(cancellable);
  } finally {
    cancellable.release();
  }
}

/** With its question mark; empty if there is none. */
function queryOf({ url }: Exchange): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark);
}

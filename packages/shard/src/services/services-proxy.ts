import { anonymousUserName, mastersGroup, statusErrors } from '@multiplane/apimachinery';
import type { EmbeddedServer } from '@multiplane/apiserver';
import {
  type Authorizer,
  defaultIdentityHeaderNames,
  type Handler,
  identityHeaders,
  isLongRunning,
  parseRequestPath,
  type RequestInfo,
  type RequestPath,
  resolveRequestInfo,
  withImpersonation,
} from '@multiplane/generic-server';
import { HeaderFilter, ReverseProxy, UpstreamError, type UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import type { RequestChains } from '../wiring/request-chain.ts';

interface ServicesProxyOptions {
  /** `--shard-virtual-workspace-url`. */
  readonly url: string;
}

interface ServicesProxyModules {
  /** TLS identity: a client certificate that the server trusts for identity headers. */
  readonly identity: UpstreamIdentitySource;
  /** Builds a handler chain with the shard's filters and other endpoints. */
  readonly chain: RequestChains['other'];
}

const pathPrefix = '/services/';
const clusterSegment = '/clusters/';
const { user, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const credentials = new HeaderFilter({
  names: ['authorization', user, group, uid],
  prefixes: ['impersonate-', extraPrefix],
});

/** The virtual workspaces authorize their requests themselves. */
const allowAll: Authorizer = { authorize: () => Promise.resolve({ decision: 'allow', reason: '' }) };
/** Outside of workspaces, only `system:masters` may impersonate. */
const mastersOnly: Authorizer = {
  authorize: (attributes) =>
    Promise.resolve({
      decision: attributes.user.groups.includes(mastersGroup) ? 'allow' : 'noOpinion',
      reason: '',
    }),
};

/**
 * Proxies requests below `/services/` to an external virtual workspace server (kcp `pkg/server/virtual.go`). The shard
 * authenticates them and forwards the user in headers. Bodies and watches are streamed.
 */
export function servicesProxy(options: ServicesProxyOptions, modules: ServicesProxyModules): EmbeddedServer {
  const url = new URL(options.url);
  const proxy = new ReverseProxy({ namesConnections: true }, { identity: modules.identity });
  const forward: Handler = async ({ exchange, info, user: caller }) => {
    const headers = caller.name === anonymousUserName ? [] : identityHeaders(caller, defaultIdentityHeaderNames);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be forwarded in a header');
    try {
      await proxy.forward(exchange, { url, headers, dropHeaders: credentials, longRunning: isLongRunning(info) });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      throw error.status === 503
        ? statusErrors.serviceUnavailable('the virtual workspaces do not respond', 1)
        : statusErrors.untyped(error.message, error.status);
    }
  };
  const handle = modules.chain(
    { classify, authorizer: allowAll, impersonation: withImpersonation({ authorizer: mastersOnly }) },
    forward,
  );
  return {
    pathPrefix,
    runnables: [
      {
        name: 'virtual workspace proxy',
        start: async () => {},
        stop: () => proxy.close(),
      },
    ],
    handle: (exchange) => handle(exchange),
  };
}

/** Parses the path behind the last `/clusters/<x>`, so that watches count as long-running requests. */
function classify(method: string, target: RequestPath): RequestInfo {
  const at = target.path.lastIndexOf(clusterSegment);
  if (at < 0) return resolveRequestInfo(method, target, undefined);
  const query = target.query === '' ? '' : `?${target.query}`;
  return resolveRequestInfo(method, parseRequestPath(target.path.slice(at) + query), undefined);
}

import { anonymousUserName, mastersGroup, statusErrors } from '@multiplane/apimachinery';
import {
  defaultIdentityHeaderNames,
  identityHeaders,
  isLongRunning,
  parseRequestPath,
  resolveRequestInfo,
  withImpersonation,
  type Authorizer,
  type EmbeddedServer,
  type Handler,
  type RequestInfo,
  type RequestPath,
} from '@multiplane/apiserver';
import { HeaderFilter, ReverseProxy, UpstreamError, type UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import type { RequestChains } from '../wiring/request-chain.ts';

interface ServicesProxyOptions {
  /** `--shard-virtual-workspace-url`. */
  readonly url: string;
}

interface ServicesProxyModules {
  /** Who the shard is to the virtual workspaces: a certificate whose word on users they take. */
  readonly identity: UpstreamIdentitySource;
  /** A chain like the shard's own, with other endpoints. */
  readonly chain: RequestChains['other'];
}

const pathPrefix = '/services/';
const clusterSegment = '/clusters/';
const { user, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const credentials = new HeaderFilter({
  names: ['authorization', user, group, uid],
  prefixes: ['impersonate-', extraPrefix],
});

/** Who may do what there is the virtual workspaces' business. */
const everybody: Authorizer = { authorize: () => Promise.resolve({ decision: 'allow', reason: '' }) };
/** Outside of any workspace nobody but these may act as somebody else. */
const masters: Authorizer = {
  authorize: (attributes) =>
    Promise.resolve({
      decision: attributes.user.groups.includes(mastersGroup) ? 'allow' : 'noOpinion',
      reason: '',
    }),
};

/**
 * Virtual workspaces outside of this process (C1.5, 19): a request below `/services/` is authenticated here and goes on
 * to their server, which is told who makes it. Everything streams; a watch lasts as long as the client wants.
 */
export function servicesProxy(options: ServicesProxyOptions, modules: ServicesProxyModules): EmbeddedServer {
  const url = new URL(options.url);
  const proxy = new ReverseProxy({}, { identity: modules.identity });
  const forward: Handler = async ({ exchange, info, user: caller }) => {
    const headers = caller.name === anonymousUserName ? [] : identityHeaders(caller, defaultIdentityHeaderNames);
    if (headers === undefined) throw statusErrors.badRequest('the user name cannot be passed on');
    try {
      await proxy.forward(exchange, { url, headers, dropHeaders: credentials, longRunning: isLongRunning(info) });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      throw error.status === 503
        ? statusErrors.serviceUnavailable('the virtual workspaces do not answer', 1)
        : statusErrors.untyped(error.message, error.status);
    }
  };
  const handle = modules.chain(
    { classify, authorizer: everybody, impersonation: withImpersonation({ authorizer: masters }) },
    forward,
  );
  return {
    pathPrefix,
    runnables: [
      {
        name: 'way to the virtual workspaces',
        start: async () => {},
        stop: () => proxy.close(),
      },
    ],
    handle: (exchange) => handle(exchange),
  };
}

/** What is asked for behind the last `/clusters/<x>`, so that a watch is known as one. */
function classify(method: string, target: RequestPath): RequestInfo {
  const at = target.path.lastIndexOf(clusterSegment);
  if (at < 0) return resolveRequestInfo(method, target, undefined);
  const query = target.query === '' ? '' : `?${target.query}`;
  return resolveRequestInfo(method, parseRequestPath(target.path.slice(at) + query), undefined);
}

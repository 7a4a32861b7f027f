import {
  anonymousUserName,
  isJsonObject,
  parseJson,
  statusErrors,
  type JsonObject,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { EmbeddedServer } from '@multiplane/apiserver';
import { untilAborted, type Runnable } from '@multiplane/component-base';
import {
  BufferedExchange,
  defaultIdentityHeaderNames,
  DeniedAddressError,
  identityHeaders,
  policyLookup,
  type AddressPolicy,
  type Exchange,
} from '@multiplane/generic-server';
import {
  HeaderFilter,
  hopsHeader,
  hopsOf,
  ReverseProxy,
  UpstreamError,
  type UpstreamIdentitySource,
} from '@multiplane/reverse-proxy';
import { EndpointError, type EndpointUrls } from './endpoint-urls.ts';

/** How servers outside of the control plane are called. */
export interface ExternalServers {
  /** The operator's CA for these servers, and the client certificate for them. */
  readonly identity: UpstreamIdentitySource;
  /** Whether the certificate lets them trust identity headers. */
  readonly forwardsIdentity: boolean;
  /** Tenants choose the addresses. */
  readonly policy: AddressPolicy;
}

export interface VirtualResourceBackendsModules {
  /** The shard's identity towards virtual workspaces in another process; absent: they run in this one. */
  readonly identity?: UpstreamIdentitySource | undefined;
  /** Absent: only virtual workspaces of the control plane are called. */
  readonly external?: ExternalServers | undefined;
}

export interface BackendRequest {
  /** Path and query below the endpoint's URL. */
  readonly path: string;
  readonly user: UserInfo;
  readonly longRunning: boolean;
}

const { user: userHeader, group, uid, extraPrefix } = defaultIdentityHeaderNames;
const credentials = new HeaderFilter({
  names: ['authorization', 'cookie', userHeader, group, uid],
  prefixes: ['impersonate-', extraPrefix],
});
const documentTimeoutMs = 5_000;
/** Parsing a larger document would hold the event loop too long. */
const maxDocumentBytes = 512 * 1024;
/**
 * Times that one request may go from the shard to virtual workspaces of this process. The virtual workspace of an export asks the
 * shard again, so an endpoint of a tenant may lead back to itself.
 */
const maxHops = 8;
/** Of one external server: a slow one must not occupy all requests in flight of the shard. */
const maxExternalInFlight = 200;

/**
 * Sends requests to the servers behind virtual resources. A tenant chooses their URLs, so credentials depend on the server,
 * and none that proves this shard's identity within the control plane ever leaves it:
 *
 * | server | verified by | client certificate | identity of the caller |
 * |---|---|---|---|
 * | virtual workspaces of this process | – | – | passed on |
 * | below this shard's virtual workspace URL | the shard's CA | the shard's | headers |
 * | any other, if the operator configured a CA for them | that CA alone, allowed addresses | one for this purpose | headers, with the certificate |
 *
 * Tokens, cookies and impersonation headers of the client are never forwarded.
 */
export class VirtualResourceBackends implements Runnable {
  readonly name = 'virtual resource backends';
  readonly #modules: VirtualResourceBackendsModules;
  readonly #own: ReverseProxy | undefined;
  readonly #external: ReverseProxy | undefined;
  readonly #turns = new WeakMap<readonly URL[], number>();
  #dispatch: EmbeddedServer['dispatch'];

  constructor(modules: VirtualResourceBackendsModules) {
    const { identity, external } = modules;
    this.#modules = modules;
    if (identity !== undefined) this.#own = new ReverseProxy({ namesConnections: true }, { identity });
    if (external !== undefined)
      this.#external = new ReverseProxy(
        { maxInFlight: maxExternalInFlight },
        { identity: external.identity, lookup: policyLookup({ policy: external.policy }) },
      );
  }

  /** Uses the virtual workspaces of this process. */
  adopt(server: EmbeddedServer): void {
    this.#dispatch ??= server.dispatch?.bind(server);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    await Promise.all([this.#own?.close(), this.#external?.close()]);
  }

  /** Rejects with an UpstreamError, an EndpointError for an address or a StatusError for a user that cannot be used, before a response starts. */
  async forward(exchange: Exchange, { urls, isExternal }: EndpointUrls, request: BackendRequest): Promise<void> {
    const { path, user, longRunning } = request;
    if (isExternal) return this.#forwardOutside(exchange, urls, request);
    if (this.#dispatch !== undefined) {
      const hops = hopsOf(exchange.headers) + 1;
      if (hops > maxHops) throw new UpstreamError('loop');
      (exchange.headers as Record<string, string>)[hopsHeader] = String(hops);
      return this.#dispatch(exchange, user, `${this.#inTurn(urls).pathname.replace(/\/+$/, '')}${path}`);
    }
    if (this.#own === undefined) throw new UpstreamError('unreachable');
    const headers = user.name === anonymousUserName ? [] : headersOf(user);
    await this.#own.forwardToAny(exchange, urls, { path, headers, dropHeaders: credentials, longRunning });
  }

  /** GET of a JSON document. Rejects with any response but 200, and after a timeout. */
  async document(endpoints: EndpointUrls, path: string, user: UserInfo): Promise<JsonObject> {
    const signal = AbortSignal.timeout(documentTimeoutMs);
    const headers = { accept: 'application/json' };
    const exchange = new BufferedExchange({ signal, socket: {} }, path, { method: 'GET', headers });
    const answer = this.forward(exchange, endpoints, { path, user, longRunning: false }).then(() =>
      exchange.response(),
    );
    const response = await untilAborted(answer, signal);
    if (response?.status !== 200) throw new Error(`GET ${path}: ${response?.status ?? 'timeout'}`);
    if (response.body.length > maxDocumentBytes) throw new Error(`GET ${path}: the document is too large`);
    const document = parseJson(response.body.toString());
    if (!isJsonObject(document)) throw new Error(`GET ${path}: the document is no object`);
    return document;
  }

  async #forwardOutside(exchange: Exchange, urls: readonly URL[], request: BackendRequest): Promise<void> {
    const { external } = this.#modules;
    if (this.#external === undefined || external === undefined) throw new UpstreamError('unreachable');
    for (const { hostname } of urls) if (!external.policy.allowsHost(hostname)) throw denied(hostname);
    const { path, user, longRunning } = request;
    // An anonymous caller is named, too: without headers the server might take the request for the shard's own.
    const headers = external.forwardsIdentity ? headersOf(user) : [];
    try {
      await this.#external.forwardToAny(exchange, urls, { path, headers, dropHeaders: credentials, longRunning });
    } catch (error) {
      if (error instanceof UpstreamError && error.cause instanceof DeniedAddressError)
        throw denied(error.cause.message);
      throw error;
    }
  }

  #inTurn(urls: readonly URL[]): URL {
    const turn = this.#turns.get(urls) ?? 0;
    this.#turns.set(urls, (turn + 1) % urls.length);
    return urls[turn] as URL;
  }
}

function headersOf(user: UserInfo): string[] {
  const headers = identityHeaders(user, defaultIdentityHeaderNames);
  if (headers === undefined) throw statusErrors.badRequest('the user name cannot be forwarded');
  return headers;
}

const denied = (hostname: string): Error =>
  new EndpointError(
    `the addresses of ${hostname} are not open to virtual resources; an administrator of the installation can open them by --webhook-allowed-networks`,
  );

import type { UserInfo } from '@multiplane/apimachinery';
import {
  DispatchedExchange,
  type BaseExchange,
  type EdgeExchange,
  type EmbeddedServer,
  type Exchange,
  type Headers,
  type RequestAuthenticator,
} from '@multiplane/apiserver';

/**
 * The servers inside this process, by what their requests' paths begin with. The raw path decides: one that is spelled
 * otherwise (`//services/…`, `/%73ervices/…`) goes down the shard's own chain, which knows no such path.
 */
export class EmbeddedServers {
  readonly #servers: EmbeddedServer[] = [];

  /** Throws when two servers want the same requests. */
  add(server: EmbeddedServer): void {
    const { pathPrefix } = server;
    if (!pathPrefix.startsWith('/') || !pathPrefix.endsWith('/') || pathPrefix.startsWith('/clusters/'))
      throw new Error(`an embedded server cannot take the requests below ${pathPrefix}`);
    if (this.#servers.some((other) => other.pathPrefix === pathPrefix))
      throw new Error(`two embedded servers want the requests below ${pathPrefix}`);
    this.#servers.push(server);
    this.#servers.sort((a, b) => b.pathPrefix.length - a.pathPrefix.length);
  }

  /** Sends a request to the server it belongs to, the shard itself unless another one takes it. */
  route(shard: (exchange: EdgeExchange) => Promise<void>): (exchange: BaseExchange) => Promise<void> {
    if (this.#servers.length === 0) return shard;
    return (exchange) => {
      // Most requests: no server may want them.
      if (exchange.url.startsWith('/clusters/')) return shard(exchange);
      for (const server of this.#servers) if (belongsTo(server, exchange.url)) return server.handle(exchange);
      return shard(exchange);
    };
  }
}

/** Without its last slash a prefix is the server's as well: it knows where to send such clients. */
function belongsTo({ pathPrefix }: EmbeddedServer, url: string): boolean {
  if (url.startsWith(pathPrefix)) return true;
  const end = pathPrefix.length - 1;
  return url.startsWith(pathPrefix.slice(0, end)) && (url.length === end || url[end] === '?');
}

/** {@link EmbeddingHost.dispatch}: a chain that takes another server's word for who makes a request. */
export class RequestDispatcher {
  /** By the headers, the one part of an exchange that stays the same object under whatever wraps it. */
  readonly #users = new WeakMap<Headers, UserInfo>();
  readonly #chain: (exchange: EdgeExchange) => Promise<void>;

  /** `build` makes a chain like the shard's own, but for its authenticator. */
  constructor(build: (authenticator: RequestAuthenticator) => (exchange: EdgeExchange) => Promise<void>) {
    this.#chain = build({
      authenticate: ({ headers }) => {
        const user = this.#users.get(headers);
        return Promise.resolve(user === undefined ? undefined : { user });
      },
    });
  }

  dispatch(exchange: Exchange, user: UserInfo, url = exchange.url): Promise<void> {
    const dispatched = new DispatchedExchange(exchange, url);
    this.#users.set(dispatched.headers, user);
    return this.#chain(dispatched);
  }
}

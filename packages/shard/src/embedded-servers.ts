import type { UserInfo } from '@multiplane/apimachinery';
import type { EmbeddedServer } from '@multiplane/apiserver';
import {
  type BaseExchange,
  DispatchedExchange,
  dispatchedAuthenticator,
  type ServerExchange,
  type Exchange,
  type RequestAuthenticator,
} from '@multiplane/generic-server';

/**
 * Routes requests to the servers inside this process by path prefix. The raw path decides: other spellings (`//services/…`,
 * `/%73ervices/…`) reach the shard's own chain, which returns 404 for them.
 */
export class EmbeddedServers {
  readonly #servers: EmbeddedServer[] = [];

  /** Throws for invalid and duplicate prefixes. */
  add(server: EmbeddedServer): void {
    const { pathPrefix } = server;
    if (!pathPrefix.startsWith('/') || !pathPrefix.endsWith('/') || pathPrefix.startsWith('/clusters/'))
      throw new Error(`invalid path prefix of an embedded server: ${pathPrefix}`);
    if (this.#servers.some((other) => other.pathPrefix === pathPrefix))
      throw new Error(`duplicate path prefix of an embedded server: ${pathPrefix}`);
    this.#servers.push(server);
    this.#servers.sort((a, b) => b.pathPrefix.length - a.pathPrefix.length);
  }

  /** Returns a handler that passes each request to the server with the longest matching prefix, else to the shard. */
  route(shard: (exchange: ServerExchange) => Promise<void>): (exchange: BaseExchange) => Promise<void> {
    if (this.#servers.length === 0) return shard;
    return (exchange) => {
      // Fast path for most requests: no server can have this prefix.
      if (exchange.url.startsWith('/clusters/')) return shard(exchange);
      for (const server of this.#servers) if (matches(server, exchange.url)) return server.handle(exchange);
      return shard(exchange);
    };
  }
}

/** A prefix without its last slash matches as well: the server redirects such clients. */
function matches({ pathPrefix }: EmbeddedServer, url: string): boolean {
  if (url.startsWith(pathPrefix)) return true;
  const end = pathPrefix.length - 1;
  return url.startsWith(pathPrefix.slice(0, end)) && (url.length === end || url[end] === '?');
}

/** Implements {@link EmbeddingHost.dispatch}: a chain with users that an embedded server has authenticated. */
export class RequestDispatcher {
  readonly #chain: (exchange: ServerExchange) => Promise<void>;

  /** `build` creates the shard's chain with another authenticator. */
  constructor(build: (authenticator: RequestAuthenticator) => (exchange: ServerExchange) => Promise<void>) {
    this.#chain = build(dispatchedAuthenticator);
  }

  dispatch(exchange: Exchange, user: UserInfo, url = exchange.url): Promise<void> {
    return this.#chain(new DispatchedExchange(exchange, url, user));
  }
}

import { statusErrors, type StatusError } from '@multiplane/apimachinery';
import { type Exchange, type IdentityHeaderNames, identityHeaders, writeStatusError } from '@multiplane/generic-server';
import { UpstreamError, type HeaderFilter, type ReverseProxy } from '@multiplane/reverse-proxy';
import type { UpstreamRequest, ShardConnection } from './shard-connection.ts';

export interface ProxyingConnectionOptions {
  /** The address of the shard, or of a front-proxy in front of several shards. */
  readonly server: () => URL;
  /** A bearer token for servers that do not authenticate this one by its client certificate. */
  readonly token?: (() => string | undefined) | undefined;
}

/**
 * {@link ShardConnection} over mTLS. This server authenticates with its own certificate and names the user in
 * impersonation headers, which the shard authorizes against the certificate. Credentials and impersonation headers of
 * the client are not forwarded.
 */
export class ProxyingConnection implements ShardConnection {
  readonly #options: ProxyingConnectionOptions;
  readonly #proxy: Pick<ReverseProxy, 'forward'>;
  readonly #dropHeaders: HeaderFilter;
  constructor(
    options: ProxyingConnectionOptions,
    modules: { readonly proxy: Pick<ReverseProxy, 'forward'>; readonly dropHeaders: HeaderFilter },
  ) {
    this.#options = options;
    this.#proxy = modules.proxy;
    this.#dropHeaders = modules.dropHeaders;
  }

  async forward(exchange: Exchange, { url, user, longRunning }: UpstreamRequest): Promise<void> {
    const token = this.#options.token?.();
    const identity = user === undefined ? [] : identityHeaders(user, impersonationHeaders);
    if (identity === undefined) {
      writeStatusError(
        { exchange, info: noQuery },
        statusErrors.badRequest('the user name cannot be sent in a header'),
      );
      return;
    }
    try {
      await this.#proxy.forward(exchange, {
        url: this.#options.server(),
        path: url,
        dropHeaders: this.#dropHeaders,
        headers: [...(token === undefined ? [] : ['authorization', `Bearer ${token}`]), ...identity],
        ...(longRunning === undefined ? {} : { longRunning }),
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      writeStatusError({ exchange, info: noQuery }, statusErrorFor(error));
    }
  }
}

/** Impersonation headers of Kubernetes. */
const impersonationHeaders: IdentityHeaderNames = {
  user: 'Impersonate-User',
  group: 'Impersonate-Group',
  uid: 'Impersonate-Uid',
  extraPrefix: 'Impersonate-Extra-',
};

const noQuery = { query: new URLSearchParams() };

/** Maps a proxy failure to a Status: 503 with Retry-After while the shard is unreachable. */
const statusErrorFor = ({ status, message }: UpstreamError): StatusError =>
  status === 503 ? statusErrors.serviceUnavailable(message, 1) : statusErrors.untyped(message, status);

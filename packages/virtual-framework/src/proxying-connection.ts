import { statusErrors, type StatusError } from '@multiplane/apimachinery';
import { identityHeaders, writeStatusError, type Exchange, type IdentityHeaderNames } from '@multiplane/apiserver';
import { UpstreamError, type HeaderFilter, type ReverseProxy } from '@multiplane/reverse-proxy';
import type { Onward, ShardConnection } from './shard-connection.ts';

export interface ProxyingConnectionOptions {
  /** The shard, or a front-proxy before several. */
  readonly server: () => URL;
  /** For a server that knows this one by a bearer token instead of a certificate. */
  readonly token?: (() => string | undefined) | undefined;
}

/**
 * {@link ShardConnection} over mTLS. The certificate is this server's; whom it speaks for goes as impersonation, which
 * the shard checks against the certificate. Whatever the client sent of either kind stays here.
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

  async forward(exchange: Exchange, { url, user, longRunning }: Onward): Promise<void> {
    const token = this.#options.token?.();
    const identity = user === undefined ? [] : identityHeaders(user, impersonation);
    if (identity === undefined) {
      writeStatusError({ exchange, info: noQuery }, statusErrors.badRequest('the user name cannot be passed on'));
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
      writeStatusError({ exchange, info: noQuery }, failureOf(error));
    }
  }
}

/** What the headers are called by which somebody acts as another. */
const impersonation: IdentityHeaderNames = {
  user: 'Impersonate-User',
  group: 'Impersonate-Group',
  uid: 'Impersonate-Uid',
  extraPrefix: 'Impersonate-Extra-',
};

const noQuery = { query: new URLSearchParams() };

/** The shard does not answer: its workspaces cannot be looked at now, and nobody learns more than that. */
const failureOf = ({ status, message }: UpstreamError): StatusError =>
  status === 503 ? statusErrors.serviceUnavailable(message, 1) : statusErrors.untyped(message, status);

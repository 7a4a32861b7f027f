import { statusErrors, type StatusError, type UserInfo } from '@multiplane/apimachinery';
import { writeStatusError, type Exchange } from '@multiplane/apiserver';
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
    try {
      await this.#proxy.forward(exchange, {
        url: this.#options.server(),
        path: url,
        dropHeaders: this.#dropHeaders,
        headers: [
          ...(token === undefined ? [] : ['authorization', `Bearer ${token}`]),
          ...(user === undefined ? [] : impersonationHeaders(user)),
        ],
        ...(longRunning === undefined ? {} : { longRunning }),
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      writeStatusError({ exchange, info: noQuery }, failureOf(error));
    }
  }
}

const noQuery = { query: new URLSearchParams() };

/** The shard does not answer: its workspaces cannot be looked at now, and nobody learns more than that. */
const failureOf = ({ status, message }: UpstreamError): StatusError =>
  status === 503 ? statusErrors.serviceUnavailable(message, 1) : statusErrors.untyped(message, status);

/** Names and values in turn: `Impersonate-User` and the rest of who somebody is. */
export function impersonationHeaders(user: UserInfo): string[] {
  const headers = ['impersonate-user', user.name];
  if (user.uid !== '') headers.push('impersonate-uid', user.uid);
  for (const group of user.groups) headers.push('impersonate-group', group);
  for (const key of Object.keys(user.extra)) {
    for (const value of user.extra[key] ?? []) headers.push(`impersonate-extra-${encodeURIComponent(key)}`, value);
  }
  return headers;
}

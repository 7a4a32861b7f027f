import { watchClientConfig, type ClientConfig } from '@multiplane/client';
import type { CertificateWatcher, Watched } from '@multiplane/component-base';
import { HeaderFilter, ReverseProxy } from '@multiplane/reverse-proxy';
import { ProxyingConnection, type ShardConnection } from '@multiplane/virtual-framework';

/** The connection to an upstream server, configured by a kubeconfig. */
export interface ServerConnection {
  readonly config: Watched<ClientConfig>;
  readonly connection: ShardConnection;
  close(): Promise<void>;
}

/** Headers with the client's identity; they are not forwarded. */
const credentials = {
  names: ['authorization', 'x-remote-user', 'x-remote-group', 'x-remote-uid'],
  prefixes: ['impersonate-', 'x-remote-extra-'],
};

/** Connects to a server; new connections use the current certificates. */
export function connectServer(
  options: { readonly kubeconfig: string; readonly context?: string | undefined },
  modules: { readonly watcher: CertificateWatcher },
): ServerConnection {
  const config = watchClientConfig(
    { file: options.kubeconfig, ...(options.context === undefined ? {} : { context: options.context }) },
    modules,
  );
  let loaded = config.current;
  let identity = identityOf(loaded);
  const proxy = new ReverseProxy(
    { namesConnections: true },
    {
      identity: {
        get current() {
          // One object per state loaded the files, because the proxy compares identities by reference.
          if (loaded !== config.current) {
            loaded = config.current;
            identity = identityOf(loaded);
          }
          return identity;
        },
      },
    },
  );
  const connection = new ProxyingConnection(
    {
      server: () => new URL(new URL(config.current.server).origin),
      token: () => config.current.token,
    },
    { proxy, dropHeaders: new HeaderFilter(credentials) },
  );
  return { config, connection, close: () => proxy.close() };
}

function identityOf({ ca, certificate, key, serverName }: ClientConfig) {
  return { ca, cert: certificate, key, serverName };
}

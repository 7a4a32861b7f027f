import { watchClientConfig, type ClientConfig } from '@multiplane/client';
import type { CertificateWatcher, Watched } from '@multiplane/component-base';
import { HeaderFilter, ReverseProxy } from '@multiplane/reverse-proxy';
import { ProxyingConnection, type ShardConnection } from '@multiplane/virtual-framework';

/** A server that requests go on to, as a kubeconfig describes it. */
export interface ServerAccess {
  readonly config: Watched<ClientConfig>;
  readonly connection: ShardConnection;
  close(): Promise<void>;
}

/** What of a client's request says who it is: none of it goes any further. */
const credentials = {
  names: ['authorization', 'x-remote-user', 'x-remote-group', 'x-remote-uid'],
  prefixes: ['impersonate-', 'x-remote-extra-'],
};

/** Opens the way to a server; certificates that change are used from the next connection on. */
export function accessServer(
  options: { readonly kubeconfig: string; readonly context?: string | undefined },
  modules: { readonly watcher: CertificateWatcher },
): ServerAccess {
  const config = watchClientConfig(
    { file: options.kubeconfig, ...(options.context === undefined ? {} : { context: options.context }) },
    modules,
  );
  let of = config.current;
  let identity = identityOf(of);
  const proxy = new ReverseProxy(
    {},
    {
      identity: {
        get current() {
          // One object for one state of the files: the proxy tells identities apart by it.
          if (of !== config.current) {
            of = config.current;
            identity = identityOf(of);
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

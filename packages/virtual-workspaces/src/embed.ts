import type { LogicalClusterName } from '@multiplane/apimachinery';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  Draining,
  outerApplication,
  RequestMetrics,
  versionInfo,
  type EmbedServer,
} from '@multiplane/apiserver';
import { CertificateWatcher, MetricsRegistry } from '@multiplane/component-base';
import {
  AccessReviewer,
  apiSetHandler,
  DispatchingConnection,
  servicesPrefix,
  VirtualWorkspaceServer,
} from '@multiplane/virtual-framework';
import { ConsumerBindings } from './consumer-bindings.ts';
import type { WorkspaceType } from './lifecycle/lifecycle.ts';
import { apiBindings, apiExports, apiResourceSchemas } from '@multiplane/apis';
import { accessServer } from './shard-access.ts';
import { shardVirtualWorkspaces } from './virtual-workspaces.ts';

export interface EmbeddedVirtualWorkspacesOptions {
  /** Version of this program. */
  readonly version: string;
  /** How to reach logical clusters of all shards; absent: there is no other shard. */
  readonly externalLogicalClusterAdminKubeconfig?: string | undefined;
}

/** How long what other shards say of somebody's rights is believed. */
const believed = { allowedTtl: 10_000, deniedTtl: 5_000 };
const workspaceTypes = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };

/**
 * The virtual workspaces of a shard inside its process: the same as {@link runVirtualWorkspaces}, only that requests go
 * on down the shard's own chain instead of over mTLS.
 */
export function embedVirtualWorkspaces(options: EmbeddedVirtualWorkspacesOptions): EmbedServer {
  return (host) => {
    const { clock, logger, health } = host;
    const connection = new DispatchingConnection({ host });
    const watcher = new CertificateWatcher({}, { clock, logger });
    const { externalLogicalClusterAdminKubeconfig: kubeconfig } = options;
    const everywhere = kubeconfig === undefined ? undefined : accessServer({ kubeconfig }, { watcher });
    const reviewer =
      everywhere === undefined
        ? // In process asking is cheap, and what was revoked is revoked.
          new AccessReviewer({ allowedTtl: 0, deniedTtl: 0 }, { connection, clock })
        : new AccessReviewer(believed, { connection: everywhere.connection, clock });
    // Prefixed users are nobody anywhere, so this shard, which knows the RBAC of all exports, can tell as well as any.
    const deepReviewer = new AccessReviewer({ allowedTtl: 0, deniedTtl: 0, deep: true }, { connection, clock });
    const types = host.globalInformers.informer<WorkspaceType>(workspaceTypes);
    // What goes on to the shard is counted there; nothing is told twice.
    const registry = new MetricsRegistry();
    const metrics = new RequestMetrics(registry);
    const info = versionInfo(options.version);
    const outer = outerApplication({ health, registry, metrics, logger, version: info });
    const draining = new Draining();
    const server = new VirtualWorkspaceServer(
      { ...defaultHandlerChainOptions, alwaysAllowPaths: [], version: info.gitVersion },
      {
        clock,
        logger,
        metrics,
        draining,
        // The shard counts its connections itself, by the requests that reach it.
        connections: new ConnectionTable(defaultConnectionLimits),
        health,
        audit: host.audit,
        authenticator: host.authenticator,
        onRefused: (error) => logger.debug('credentials refused', { error }),
        delegatedAuthorizer: (exchange) => reviewer.authorizer(exchange),
        workspaces: shardVirtualWorkspaces({
          connection,
          reviewer,
          clock,
          random: Math.random,
          deepReviewer,
          exports: host.globalInformers.informer(apiExports),
          schemas: host.globalInformers.informer(apiResourceSchemas),
          bindings: new ConsumerBindings({ informer: host.informers.informer(apiBindings) }),
          serve: apiSetHandler({ version: info.gitVersion }, { clock, outer }),
          findType: async (_parent, cluster, name) =>
            types.get({ cluster: cluster as LogicalClusterName, namespace: '', name }) as WorkspaceType | undefined,
        }),
      },
    );
    const end = {
      name: 'virtual workspaces',
      start: async (): Promise<void> => undefined,
      stop: async (): Promise<void> => {
        draining.begin();
        await everywhere?.close();
      },
    };
    return { pathPrefix: servicesPrefix, runnables: [watcher, end], handle: server.handle };
  };
}

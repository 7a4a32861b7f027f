import { apiBindings } from '@multiplane/apis';
import { LeaderElector, WorkQueueMetrics } from '@multiplane/client';
import { logFailures } from '@multiplane/component-base';
import { workspaceSigner } from '../certificates/workspace-signer.ts';
import { ClaimedObjects } from '../api-sharing/claimed-objects.ts';
import { ElectedControllers } from '../elected-controllers.ts';
import { shardControllers } from '../install-controllers.ts';
import { systemAdminCluster } from '../logical-cluster-index.ts';
import { LogicalClusterContentDeleter } from '../logical-cluster-content-deleter.ts';
import type { ShardOptions } from '../options.ts';
import { CachedScopedObjects } from '../scopes/scoped-objects.ts';
import type { ShardClients } from '../sharding/shard-clients.ts';
import type { ShardUrls } from '../sharding/shard-urls.ts';
import { servedResource } from '../virtual-resources/served-resource.ts';
import type { AccessControl } from './access-control.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';
import type { WritePath } from './write-path.ts';

interface Modules extends Infrastructure, ReadPath, AccessControl, WritePath {
  /** Identity of this process among the replicas of the shard. */
  readonly identity: string;
  readonly clients: ShardClients;
  readonly urls: () => ShardUrls;
}

/** The controllers of the shard; with leader election, one of its replicas runs them. */
export function electedControllers(options: ShardOptions, modules: Modules): ElectedControllers {
  const { cache, reader, resolver, builtIn, clusters, bindings, claimLabels, store } = modules;
  const { client, clients, clock, logger, replication, authentication, rootCa, urls } = modules;
  const queueMetrics = new WorkQueueMetrics(modules.registry);
  modules.registry.gauge({
    name: 'multiplane_replication_lag_seconds',
    help: 'Time for which the oldest change waits to reach other shards, failures included.',
    read: () => queueMetrics.oldestPendingMs('replication') / 1000,
  });
  return new ElectedControllers({
    informers: modules.informers,
    globalInformers: modules.globalInformers,
    logger,
    elector: options.enableLeaderElection ? leaderElector(options, modules) : undefined,
    make: (informers, globalInformers) => [
      ...shardControllers(
        {
          shardName: options.shardName,
          mounts: options.features.enabled('WorkspaceMounts'),
          virtualWorkspaceUrls: options.features.enabled('EnableDeprecatedAPIExportVirtualWorkspacesUrls'),
          cacheApis: options.features.enabled('CacheAPIs'),
          externalUrl: () => urls().externalURL,
          rootCa,
        },
        {
          informers,
          globalInformers,
          client,
          clients,
          clock,
          logger,
          queueMetrics,
          faults: modules.faults,
          resolver,
          clusters,
          limitsOfParent: (cluster) => {
            const path = clusters.pathOf(cluster);
            return path === undefined ? undefined : { path, limits: modules.limits.of(cluster) };
          },
          bindings,
          builtIn,
          issuer: authentication.serviceAccountTokens,
          signClientRequest: workspaceSigner(options, { pair: modules.files.workspaceSigningPair, clock }),
          createBinding: (cluster, binding, creator) =>
            (creator === undefined ? client : client.as(creator)).create(apiBindings, cluster, binding, {
              keepsStatus: true,
              discardResult: true,
            }),
          createWithStatus: (resource, cluster, object) =>
            client.create(resource, cluster, object, { keepsStatus: true }),
          updateWithStatus: (resource, cluster, object) =>
            client.update(resource, cluster, object, { keepsStatus: true, discardResult: true }),
          scopedObjects: new CachedScopedObjects({ cache }),
          claimedObjects: new ClaimedObjects({
            cache,
            reader,
            resolver,
            labels: claimLabels,
            references: modules.claimReferences,
          }),
          content: new LogicalClusterContentDeleter({ store, resolver, builtIn }),
          fresh: () => cache.freshRevision(),
        },
      ),
      ...replication.controllers(
        informers,
        { client, queueMetrics, servedResource: (cluster, resource) => servedResource(resolver, cluster, resource) },
        { cacheApis: options.features.enabled('CacheAPIs') },
      ),
    ],
  });
}

/** The lease whose holder runs the controllers of the shard; its name and timing follow kcp's `pkg/server/options`. */
function leaderElector(options: ShardOptions, { identity, client, clock, logger }: Modules): LeaderElector {
  const { leaderElectionNamespace: namespace, leaderElectionName: name } = options;
  return new LeaderElector(
    {
      cluster: systemAdminCluster,
      namespace,
      name,
      identity,
      leaseDurationMs: options.leaderElectionLeaseDuration,
      renewDeadlineMs: options.leaderElectionRenewDeadline,
      retryPeriodMs: options.leaderElectionRetryPeriod,
    },
    {
      client,
      clock,
      onFailure: logFailures(logger, 'failed to acquire the controller lease'),
    },
  );
}

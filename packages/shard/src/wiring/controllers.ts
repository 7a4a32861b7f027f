import type { DefinitionResolver, LoopbackClient, ObjectReader, ObjectStore } from '@multiplane/apiserver';
import { apiBindings, type ResourceDefinition } from '@multiplane/apis';
import { LeaderElector, type InformerFactory, type InformerSource } from '@multiplane/client';
import { logFailures, type Clock, type Logger } from '@multiplane/component-base';
import type { LegacyTokenIssuer } from '@multiplane/controllers';
import type { WatchCache } from '@multiplane/storage';
import type { BindingIndex } from '../api-sharing/binding-index.ts';
import type { ClaimLabels } from '../api-sharing/claim-labels.ts';
import { ClaimedObjects } from '../api-sharing/claimed-objects.ts';
import type { ShardReplication } from '../cache/shard-replication.ts';
import { ClusterContent } from '../cluster-content.ts';
import { ElectedControllers } from '../elected-controllers.ts';
import { shardControllers } from '../install-controllers.ts';
import { systemAdminCluster, type LogicalClusterIndex } from '../logical-cluster-index.ts';
import type { ShardOptions } from '../options.ts';
import type { ShardClients } from '../sharding/shard-clients.ts';

interface Modules {
  /** Of this process among the replicas of the shard. */
  readonly identity: string;
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: DefinitionResolver;
  readonly builtIn: readonly ResourceDefinition[];
  readonly clusters: LogicalClusterIndex;
  readonly bindings: BindingIndex;
  readonly claimLabels: ClaimLabels;
  readonly store: ObjectStore;
  /** Writes from inside, with every right. */
  readonly client: LoopbackClient;
  readonly clients: ShardClients;
  readonly informers: InformerFactory;
  readonly globalInformers: InformerSource;
  readonly replication: ShardReplication;
  readonly issuer: LegacyTokenIssuer;
  readonly externalUrl: () => string;
  readonly rootCa: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The controllers of the shard, which one of its replicas runs. */
export function electedControllers(options: ShardOptions, modules: Modules): ElectedControllers {
  const { cache, reader, resolver, builtIn, claimLabels, store, client, replication } = modules;
  return new ElectedControllers({
    informers: modules.informers,
    globalInformers: modules.globalInformers,
    logger: modules.logger,
    elector: options.enableLeaderElection ? leaderElector(options, modules) : undefined,
    make: (informers, globalInformers) => [
      ...shardControllers(
        {
          shardName: options.shardName,
          mounts: options.features.enabled('WorkspaceMounts'),
          virtualWorkspaceUrls: options.features.enabled('EnableDeprecatedAPIExportVirtualWorkspacesUrls'),
          externalUrl: modules.externalUrl,
          rootCa: modules.rootCa,
        },
        {
          ...modules,
          informers,
          globalInformers,
          createBinding: (cluster, binding, creator) =>
            (creator === undefined ? client : client.as(creator)).create(apiBindings, cluster, binding, {
              keepsStatus: true,
              unread: true,
            }),
          createWhole: (resource, cluster, object) => client.create(resource, cluster, object, { keepsStatus: true }),
          updateWhole: (resource, cluster, object) =>
            client.update(resource, cluster, object, { keepsStatus: true, unread: true }),
          claimedObjects: new ClaimedObjects({ cache, reader, resolver, labels: claimLabels }),
          content: new ClusterContent({ store, resolver, builtIn }),
          fresh: () => cache.freshRevision(),
        },
      ),
      ...replication.controllers(informers),
    ],
  });
}

/** The lease under which one replica of the shard runs its controllers (C5.0). */
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
      onFailure: logFailures(logger, 'the lease of the controllers cannot be had'),
    },
  );
}

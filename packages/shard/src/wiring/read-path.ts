import {
  CacheInformerFactory,
  DecodedObjects,
  DefinitionResolver,
  ExportedSchemas,
  isolatedDefinitions,
  ObjectReader,
} from '@multiplane/apiserver';
import {
  apiExports,
  builtInResources,
  cachedResources,
  CustomResources,
  workspaceUsages,
  type APIExport,
  type ResourceDefinition,
} from '@multiplane/apis';
import { InformerSyncTracker, PathAndNameIndex, type InformerSource } from '@multiplane/client';
import { untilAborted, type Runnable } from '@multiplane/component-base';
import { logicalClusters, workspaceTypes, type WorkspaceType } from '@multiplane/controllers';
import type { WatchCache } from '@multiplane/storage';
import { BindingIndex } from '../api-sharing/binding-index.ts';
import { ClaimReferences } from '../api-sharing/claim-references.ts';
import { ClusterActivity } from '../limits/cluster-activity.ts';
import { defaultLimits } from '../limits/limit-options.ts';
import { UsageReport } from '../limits/usage-report.ts';
import { WorkspaceLimits } from '../limits/workspace-limits.ts';
import { LogicalClusterIndex } from '../logical-cluster-index.ts';
import { LogicalClusterWaiter } from '../logical-cluster-waiter.ts';
import type { ShardOptions } from '../options.ts';
import { ShardReplication } from '../replication/shard-replication.ts';
import { usageMetrics } from '../usage-metrics.ts';
import { CachedStore } from './cached-store.ts';
import type { Infrastructure } from './infrastructure.ts';
import { shardWebhooks, type Webhooks } from './webhooks.ts';

/** Bytes of parsed objects kept for reads that transform, for controllers and for admission. */
const decodedBytes = 64 * 1024 * 1024;

/** The watch cache and the parts that turn its bytes into objects. */
export interface CachedObjects {
  readonly cached: CachedStore;
  readonly cache: WatchCache;
  readonly decoded: DecodedObjects;
  /** Calls the webhooks that tenants configure: conversion and admission. */
  readonly webhooks: Webhooks;
  readonly reader: ObjectReader;
  readonly builtIn: readonly ResourceDefinition[];
}

/** Everything that answers questions about stored objects. */
export interface ReadPath extends CachedObjects {
  readonly informers: CacheInformerFactory;
  /** {@link informers} for admission and authorization: readiness waits until these have synced. */
  readonly localInformers: InformerSyncTracker;
  readonly replication: ShardReplication;
  /** Replicated kinds of all shards; the objects of this shard come from its own storage. */
  readonly globalInformers: InformerSource;
  /** The part of {@link globalInformers} that comes from the cache server. */
  readonly remoteInformers: InformerSyncTracker;
  readonly bindings: BindingIndex;
  /** Objects that others name, for claims with references. */
  readonly claimReferences: ClaimReferences;
  readonly resolver: DefinitionResolver;
  readonly clusters: LogicalClusterIndex;
  /** Limits of the logical clusters of this shard. */
  readonly limits: WorkspaceLimits;
  /** Their requests. */
  readonly activity: ClusterActivity;
  readonly waiter: LogicalClusterWaiter;
  /** Workspace types of all shards. */
  readonly types: PathAndNameIndex<WorkspaceType>;
  /** APIExports of all shards. */
  readonly exports: PathAndNameIndex<APIExport>;
}

/** watch cache → informers → definition resolver and indexes */
export function readPath(options: ShardOptions, modules: Infrastructure): ReadPath {
  const { registry, certificates, clock, logger, restMetrics } = modules;
  const activity = new ClusterActivity({ clock });
  const objects = cachedObjects(options, { ...modules, activity, limits: () => limits });
  const { cache, reader, builtIn } = objects;
  const bindings = new BindingIndex({}, { cache, reader });
  const claimReferences = new ClaimReferences({ cache, reader });
  const informers = new CacheInformerFactory({ cache, reader, builtIn });
  const localInformers = new InformerSyncTracker({ source: informers });
  const replication = new ShardReplication(options, {
    informers: localInformers,
    fresh: () => cache.freshRevision(),
    certificates,
    clock,
    logger,
    restMetrics,
  });
  const { globalInformers, remoteInformers } = replication;
  informers.informer(logicalClusters).addHandlers({ deleted: (_old, { cluster }) => activity.forget(cluster) });
  usageMetrics(options, { registry, informers, clock });
  const resolver = new DefinitionResolver({
    cache,
    reader,
    // Only what requests see: informers and deletions know the kinds in any case, since their objects may be stored.
    builtIn: options.features.enabled('CacheAPIs')
      ? builtIn
      : builtIn.filter(({ group }) => group !== cachedResources.group),
    definitionsOf: isolatedDefinitions({ custom: new CustomResources(), faults: modules.faults }),
    bindings,
    exports: new ExportedSchemas({ informers: globalInformers }),
  });
  const clusters = new LogicalClusterIndex(
    { shardName: options.shardName, mounts: options.features.enabled('WorkspaceMounts') },
    { informers },
  );
  const limits = new WorkspaceLimits({ defaults: defaultLimits(options) }, { clusters });
  return {
    ...objects,
    activity,
    limits,
    informers,
    localInformers,
    replication,
    globalInformers,
    remoteInformers,
    bindings,
    claimReferences,
    resolver,
    clusters,
    waiter: new LogicalClusterWaiter({ informers, clock }),
    types: new PathAndNameIndex({ informer: globalInformers.informer<WorkspaceType>(workspaceTypes) }),
    exports: new PathAndNameIndex({ informer: globalInformers.informer<APIExport>(apiExports) }),
  };
}

function cachedObjects(
  options: ShardOptions,
  modules: Pick<Infrastructure, 'storage' | 'clock' | 'logger' | 'signal'> & {
    readonly activity: ClusterActivity;
    readonly limits: () => WorkspaceLimits;
  },
): CachedObjects {
  const cached = new CachedStore(modules);
  const decoded = new DecodedObjects({ maxBytes: decodedBytes });
  const webhooks = shardWebhooks(options, { decoded, clock: modules.clock });
  const { cache, usage } = cached;
  const reader = new ObjectReader({ decoded, conversions: webhooks.conversions });
  const report = new UsageReport({ ...modules, usage, cache, decode: reader.stored });
  return {
    cached,
    cache,
    decoded,
    webhooks,
    reader,
    builtIn: [
      ...builtInResources({ eventTtlSeconds: Math.ceil(options.eventTtl / 1000) }),
      workspaceUsages((logicalCluster) => report.of(logicalCluster)),
    ],
  };
}

/** Starts the indexes that subscribe to the watch cache once it has loaded its keys. */
export function watchCacheRunnable(
  modules: Pick<ReadPath, 'cached' | 'cache' | 'bindings' | 'claimReferences' | 'resolver'> &
    Pick<Infrastructure, 'signal'>,
): Runnable {
  const { cached, cache, bindings, claimReferences, resolver, signal } = modules;
  return {
    name: 'watch cache',
    start: async () => {
      await untilAborted(cache.ready, signal);
      if (signal.aborted) return;
      // The binding index notifies the resolver, so it starts first.
      bindings.start();
      claimReferences.start();
      resolver.start();
    },
    stop: async () => {
      resolver.stop();
      claimReferences.stop();
      bindings.stop();
      await cache.close();
    },
    ended: cached.readFailure,
  };
}

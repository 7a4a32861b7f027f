import { randomBytes } from 'node:crypto';
import { apiVersionOf, shardNameAnnotation, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceResolver } from '@multiplane/apiserver';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  cachedResources,
  type APIExport,
  type APIResourceSchema,
  type CachedResource,
  type ResourceDefinition,
} from '@multiplane/apis';
import { PathAndNameIndex, type InformerSource } from '@multiplane/client';
import type { ObjectFaults, Runnable } from '@multiplane/component-base';
import {
  apiExportController,
  apiSharingControllers,
  clusterRoleAggregationController,
  csrCleanerController,
  csrSigningController,
  crdController,
  defaultBindingLifecycleController,
  defaultFlowControlController,
  DefaultBindingWriter,
  flowSchemaController,
  garbageCollector,
  logicalClusterController,
  logicalClusters,
  namespaceController,
  partitionSetController,
  permissionClaimControllers,
  policedIdentitiesController,
  replicateAnnotationController,
  resourceQuotaController,
  rootCaController,
  serviceAccountController,
  serviceAccountTokenController,
  ShardHealth,
  shardReference,
  shards,
  validatingPolicyStatusController,
  workspaceControllers,
  workspaceLimitsController,
  workspaceMountController,
  workspaceTypeController,
  workspaceTypes,
  type ClaimedObjectFinder,
  type ContentDeleter,
  type ControllerModules,
  type DefaultBindingWriterModules,
  type LegacyTokenIssuer,
  type LimitsOfParent,
  type LogicalCluster,
  type ScopedObjects,
  type SignClientRequest,
  type UpdateWithStatus,
  type WorkspaceType,
} from '@multiplane/controllers';
import type { BindingIndex } from './api-sharing/binding-index.ts';
import type { LogicalClusterIndex } from './logical-cluster-index.ts';
import { rootShardName } from './sharding-options.ts';
import type { ShardClients } from './sharding/shard-clients.ts';
import { endpointSliceFinder } from './virtual-resources/endpoint-slice-finder.ts';
import { notifyOwnerOfMove } from './sharding/notify-owner.ts';
import { ShardedLogicalClusters } from './sharding/sharded-logical-clusters.ts';

interface ControllersOptions {
  readonly shardName: string;
  readonly externalUrl: () => string;
  /** Feature gate WorkspaceMounts. */
  readonly mounts: boolean;
  /** Feature gate EnableDeprecatedAPIExportVirtualWorkspacesUrls. */
  readonly virtualWorkspaceUrls: boolean;
  /** Feature gate CacheAPIs. */
  readonly cacheApis: boolean;
  readonly rootCa: () => string;
}

interface ControllersModules extends ControllerModules {
  /** Replicated kinds of all shards; the objects of this shard come from its own storage. */
  readonly globalInformers: InformerSource;
  readonly clients: ShardClients;
  readonly resolver: ResourceResolver;
  readonly faults: ObjectFaults;
  readonly clusters: LogicalClusterIndex;
  readonly limitsOfParent: LimitsOfParent;
  readonly bindings: BindingIndex;
  readonly claimedObjects: ClaimedObjectFinder;
  readonly scopedObjects: ScopedObjects;
  readonly issuer: LegacyTokenIssuer;
  readonly signClientRequest: SignClientRequest;
  readonly builtIn: readonly ResourceDefinition[];
  readonly content: ContentDeleter;
  /** Resolves when the informers reflect every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly createBinding: DefaultBindingWriterModules['createBinding'];
  /** Creates an object with its status in one write. */
  readonly createWithStatus: UpdateWithStatus;
  readonly updateWithStatus: UpdateWithStatus;
}

/** All controllers of a shard in start order. Each controller works for all logical clusters of the shard. */
export function shardControllers(options: ControllersOptions, modules: ControllersModules): Runnable[] {
  const { globalInformers } = modules;
  const types = new PathAndNameIndex({ informer: globalInformers.informer<WorkspaceType>(workspaceTypes) });
  const exports = new PathAndNameIndex({ informer: globalInformers.informer<APIExport>(apiExports) });
  const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  const defaultBindings = new DefaultBindingWriter({
    ...modules,
    types,
    exports,
    schema: (cluster, name) => schemas.get({ cluster, namespace: '', name }),
  });
  const indexed = { ...modules, types, exports, defaultBindings };
  return [
    ...kubernetesControllers(options, modules),
    ...tenancyControllers(options, indexed),
    ...apiControllers(options, indexed),
  ];
}

interface IndexedModules extends ControllersModules {
  readonly types: PathAndNameIndex<WorkspaceType>;
  readonly exports: PathAndNameIndex<APIExport>;
  readonly defaultBindings: DefaultBindingWriter;
}

function kubernetesControllers(options: ControllersOptions, modules: ControllersModules): Runnable[] {
  const { resolver, builtIn } = modules;
  const builtInOf = (group: string): readonly ResourceDefinition[] =>
    builtIn.filter((definition) => definition.group === group);
  return [
    crdController(
      {
        builtInNames: (group) => ({
          resources: new Set(
            builtInOf(group).flatMap(({ resource, singular, shortNames }) => [resource, singular, ...shortNames]),
          ),
          kinds: new Set(builtInOf(group).flatMap(({ kind, listKind }) => [kind, listKind])),
        }),
      },
      modules,
    ),
    namespaceController(modules),
    serviceAccountController(modules),
    rootCaController(options, modules),
    serviceAccountTokenController(options, modules),
    csrSigningController({ ...modules, sign: modules.signClientRequest }),
    csrCleanerController(modules),
    clusterRoleAggregationController(modules),
    defaultFlowControlController(modules),
    flowSchemaController(modules),
    resourceQuotaController(modules),
    garbageCollector({
      ...modules,
      resourceOfKind: (cluster, apiVersion, kind) => resourceOfKind(resolver, cluster, apiVersion, kind),
    }),
  ];
}

/** Workspaces, logical clusters and workspace types. */
function tenancyControllers(options: ControllersOptions, modules: IndexedModules): Runnable[] {
  const { resolver, clusters, clients, informers, globalInformers, client, clock } = modules;
  const remoteClusters = new ShardedLogicalClusters(options, {
    clients,
    local: client,
    lister: informers.informer<LogicalCluster>(logicalClusters),
    fresh: modules.fresh,
  });
  const health = new ShardHealth(
    { ownShard: options.shardName, rootShard: rootShardName },
    { informers: globalInformers, clock },
  );
  return [
    ...workspaceControllers(
      { ...options, randomBytes, random: Math.random },
      {
        ...modules,
        pathOf: (cluster) => clusters.pathOf(cluster),
        logicalClusters: remoteClusters,
        health,
        mayUse: (shard) => clients.canReach(shard),
        confirmShard: (name) => clients.root.get(shards, shardReference(name)),
      },
    ),
    workspaceLimitsController(options, { ...modules, logicalClusters: remoteClusters, health }),
    ...(options.mounts
      ? [
          workspaceMountController({
            ...modules,
            resourceOfKind: (cluster, apiVersion, kind) => resourceOfKind(resolver, cluster, apiVersion, kind),
          }),
        ]
      : []),
    logicalClusterController(options, {
      ...modules,
      notifyOwner: (owner) => notifyOwnerOfMove(owner, options, modules),
    }),
    defaultBindingLifecycleController(modules),
    workspaceTypeController(modules),
  ];
}

/** APIExports, APIBindings, permission claims, policies, partitions and the replicate annotation. */
function apiControllers(options: ControllersOptions, modules: IndexedModules): Runnable[] {
  const { resolver, clients, client, globalInformers } = modules;
  return [
    apiExportController({ ...options, randomBytes }, modules),
    ...apiSharingControllers(options, {
      ...modules,
      cacheApis: options.cacheApis,
      cachedResources: new PathAndNameIndex({ informer: globalInformers.informer<CachedResource>(cachedResources) }),
      findEndpointSlice: endpointSliceFinder({ resolver, client }),
      updateWithStatus: (cluster, binding) => modules.updateWithStatus(apiBindings, cluster, binding),
      // Endpoint slices of other shards are written through the front-proxy, whose identity has the fewest rights.
      clientFor: ({ metadata }) => {
        const shard = metadata.annotations?.[shardNameAnnotation] ?? options.shardName;
        return shard === options.shardName ? client : (clients.external ?? clients.admin(shard));
      },
    }),
    policedIdentitiesController(modules),
    validatingPolicyStatusController({ ...modules, served: (cluster) => resolver.list(cluster) }),
    partitionSetController(modules),
    ...permissionClaimControllers({ ...modules, objects: modules.claimedObjects }),
    replicateAnnotationController(modules),
  ];
}

function resourceOfKind(resolver: ResourceResolver, cluster: LogicalClusterName, apiVersion: string, kind: string) {
  const definition = resolver
    .list(cluster)
    .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
  if (definition === undefined) return undefined;
  return {
    resource: definition,
    namespaced: definition.namespaced,
    isVirtual: definition.virtual !== undefined,
  };
}

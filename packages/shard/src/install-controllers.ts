import { randomBytes } from 'node:crypto';
import { apiVersionOf, shardNameAnnotation, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceResolver } from '@multiplane/apiserver';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  type APIExport,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import { PathAndNameIndex, type InformerSource } from '@multiplane/client';
import type { Runnable } from '@multiplane/component-base';
import {
  apiExportController,
  apiSharingControllers,
  clusterRoleAggregationController,
  crdController,
  defaultBindingLifecycleController,
  DefaultBindingWriter,
  flowSchemaController,
  garbageCollector,
  logicalClusterController,
  logicalClusters,
  namespaceController,
  partitionSetController,
  permissionClaimControllers,
  policedIdentitiesController,
  replicationMarkingController,
  resourceQuotaController,
  rootCaController,
  serviceAccountController,
  serviceAccountTokenController,
  ShardHealth,
  shardReference,
  shards,
  validatingPolicyStatusController,
  workspaceControllers,
  workspaceMountController,
  workspaceTypeController,
  workspaceTypes,
  type ClaimedObjectFinder,
  type ContentRemover,
  type ControllerModules,
  type DefaultBindingWriterModules,
  type LegacyTokenIssuer,
  type LogicalCluster,
  type UpdateWhole,
  type WorkspaceType,
} from '@multiplane/controllers';
import type { BindingIndex } from './api-sharing/binding-index.ts';
import type { LogicalClusterIndex } from './logical-cluster-index.ts';
import { rootShardName } from './sharding-options.ts';
import type { ShardClients } from './sharding/shard-clients.ts';
import { tellOwnerOfMove } from './sharding/tell-owner.ts';
import { ShardedLogicalClusters } from './sharding/sharded-logical-clusters.ts';

interface ControllersOptions {
  readonly shardName: string;
  readonly externalUrl: () => string;
  /** Feature gate WorkspaceMounts. */
  readonly mounts: boolean;
  /** Feature gate EnableDeprecatedAPIExportVirtualWorkspacesUrls. */
  readonly virtualWorkspaceUrls: boolean;
  readonly rootCa: () => string;
}

interface ControllersModules extends ControllerModules {
  /** What all shards replicate, this one's own objects first. */
  readonly globalInformers: InformerSource;
  readonly clients: ShardClients;
  readonly resolver: ResourceResolver;
  readonly clusters: LogicalClusterIndex;
  readonly bindings: BindingIndex;
  readonly claimedObjects: ClaimedObjectFinder;
  readonly issuer: LegacyTokenIssuer;
  readonly builtIn: readonly ResourceDefinition[];
  readonly content: ContentRemover;
  /** Resolves when the informers show every write that was acknowledged before the call. */
  readonly fresh: () => Promise<unknown>;
  readonly createBinding: DefaultBindingWriterModules['createBinding'];
  /** Makes an object with its status, in one write. */
  readonly createWhole: UpdateWhole;
  readonly updateWhole: UpdateWhole;
}

/** Every controller of a shard; each works for all of its logical clusters. */
export function shardControllers(options: ControllersOptions, modules: ControllersModules): Runnable[] {
  const { resolver, clusters, builtIn, clients, informers, globalInformers, client, clock } = modules;
  const served = (group: string): readonly ResourceDefinition[] =>
    builtIn.filter((definition) => definition.group === group);
  const types = new PathAndNameIndex({ informer: globalInformers.informer<WorkspaceType>(workspaceTypes) });
  const exports = new PathAndNameIndex({ informer: globalInformers.informer<APIExport>(apiExports) });
  const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  const defaultBindings = new DefaultBindingWriter({
    ...modules,
    types,
    exports,
    schema: (cluster, name) => schemas.get({ cluster, namespace: '', name }),
  });
  return [
    crdController(
      {
        builtInNames: (group) => ({
          resources: new Set(
            served(group).flatMap(({ resource, singular, shortNames }) => [resource, singular, ...shortNames]),
          ),
          kinds: new Set(served(group).flatMap(({ kind, listKind }) => [kind, listKind])),
        }),
      },
      modules,
    ),
    namespaceController(modules),
    serviceAccountController(modules),
    rootCaController(options, modules),
    serviceAccountTokenController(options, modules),
    clusterRoleAggregationController(modules),
    flowSchemaController(modules),
    resourceQuotaController(modules),
    garbageCollector({
      ...modules,
      resourceOfKind: (cluster, apiVersion, kind) => resourceOfKind(resolver, cluster, apiVersion, kind),
    }),
    ...workspaceControllers(
      { ...options, randomBytes, random: Math.random },
      {
        ...modules,
        types,
        exports,
        pathOf: (cluster) => clusters.pathOf(cluster),
        logicalClusters: new ShardedLogicalClusters(options, {
          clients,
          local: client,
          lister: informers.informer<LogicalCluster>(logicalClusters),
          fresh: modules.fresh,
        }),
        health: new ShardHealth(
          { ownShard: options.shardName, rootShard: rootShardName },
          { informers: globalInformers, clock },
        ),
        mayUse: (shard) => clients.mayUse(shard),
        confirmShard: (name) => clients.root.get(shards, shardReference(name)),
      },
    ),
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
      defaultBindings,
      tellOwner: (owner) => tellOwnerOfMove(owner, options, modules),
    }),
    defaultBindingLifecycleController({ ...modules, defaultBindings }),
    workspaceTypeController(modules),
    apiExportController({ ...options, randomBytes }, modules),
    ...apiSharingControllers(options, {
      ...modules,
      exports,
      updateWhole: (cluster, binding) => modules.updateWhole(apiBindings, cluster, binding),
      // A slice of another shard is written by way of the front-proxy, as who may do no more than that.
      writerOf: ({ metadata }) => {
        const shard = metadata.annotations?.[shardNameAnnotation] ?? options.shardName;
        return shard === options.shardName ? client : (clients.external ?? clients.admin(shard));
      },
    }),
    policedIdentitiesController(modules),
    validatingPolicyStatusController({ ...modules, served: (cluster) => resolver.list(cluster) }),
    partitionSetController(modules),
    ...permissionClaimControllers({ ...modules, objects: modules.claimedObjects }),
    replicationMarkingController(modules),
  ];
}

function resourceOfKind(resolver: ResourceResolver, cluster: LogicalClusterName, apiVersion: string, kind: string) {
  const definition = resolver
    .list(cluster)
    .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
  return definition === undefined ? undefined : { resource: definition, namespaced: definition.namespaced };
}

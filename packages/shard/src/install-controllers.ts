import { apiVersionOf, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceResolver } from '@multiplane/apiserver';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Runnable } from '@multiplane/component-base';
import {
  clusterRoleAggregationController,
  crdController,
  flowSchemaController,
  garbageCollector,
  logicalClusterController,
  namespaceController,
  resourceQuotaController,
  rootCaController,
  serviceAccountController,
  serviceAccountTokenController,
  workspaceController,
  type ControllerModules,
  type LegacyTokenIssuer,
} from '@multiplane/controllers';
import type { LogicalClusterIndex } from './logical-cluster-index.ts';

interface ControllersOptions {
  readonly shardName: string;
  readonly externalUrl: () => string;
  readonly rootCa: () => string;
  readonly randomBytes: (size: number) => Buffer;
}

interface ControllersModules extends ControllerModules {
  readonly resolver: ResourceResolver;
  readonly clusters: LogicalClusterIndex;
  readonly issuer: LegacyTokenIssuer;
  readonly builtIn: readonly ResourceDefinition[];
}

/** Every controller of a shard; each works for all of its logical clusters. */
export function shardControllers(options: ControllersOptions, modules: ControllersModules): Runnable[] {
  const { resolver, clusters, builtIn } = modules;
  const served = (group: string): readonly ResourceDefinition[] =>
    builtIn.filter((definition) => definition.group === group);
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
    workspaceController(options, { ...modules, pathOf: (cluster) => clusters.pathOf(cluster) }),
    logicalClusterController(options, modules),
  ];
}

function resourceOfKind(resolver: ResourceResolver, cluster: LogicalClusterName, apiVersion: string, kind: string) {
  const definition = resolver
    .list(cluster)
    .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
  return definition === undefined ? undefined : { resource: definition, namespaced: definition.namespaced };
}

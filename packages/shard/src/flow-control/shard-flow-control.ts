import type { DeepReadonly, GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '@multiplane/apis';
import type { DefinitionResolver } from '@multiplane/apiserver';
import type { InformerFactory } from '@multiplane/client';
import {
  eventLoopScheduler,
  type Clock,
  type FaultyObject,
  type MetricsRegistry,
  type ObjectFaults,
} from '@multiplane/component-base';
import {
  FlowController,
  flowSchemaOf,
  priorityLevelOf,
  type FlowControllerOptions,
  type RequestInfo,
} from '@multiplane/generic-server';
import { listPrefix, type WatchCache } from '@multiplane/storage';
import { systemAdminCluster } from '../logical-cluster-index.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const flowSchemas: GroupVersionResource = { group, version: 'v1', resource: 'flowschemas' };
const priorityLevels: GroupVersionResource = { group, version: 'v1', resource: 'prioritylevelconfigurations' };

/** In force although their objects are missing, as in kube-apiserver. */
const mandatory = new Set(['exempt', 'catch-all']);

interface Modules {
  readonly informers: InformerFactory;
  readonly resolver: Pick<DefinitionResolver, 'resolve'>;
  readonly cache: Pick<WatchCache, 'snapshot'>;
  readonly clock: Clock;
  readonly registry?: MetricsRegistry | undefined;
  readonly faults: ObjectFaults;
}

/**
 * Priority and fairness of a shard. FlowSchemas and PriorityLevelConfigurations in `system:admin` apply to all requests of
 * the shard; those in other logical clusters have no effect, because a tenant must not change the share of the others. Until
 * the objects are read, and in place of missing mandatory ones, the defaults are in force.
 */
export function shardFlowControl(options: Omit<FlowControllerOptions, 'cluster'>, modules: Modules): FlowController {
  const { informers, clock, registry } = modules;
  const controller = new FlowController(
    { ...options, cluster: systemAdminCluster },
    {
      clock,
      registry,
      scheduler: eventLoopScheduler,
      random: Math.random,
      objectCount: (info) => objectCount(info, modules),
    },
    { schemas: bootstrapFlowSchemas().map(flowSchemaOf), levels: bootstrapPriorityLevels().map(priorityLevelOf) },
  );
  const [schemas, levels] = [informers.informer(flowSchemas), informers.informer(priorityLevels)];
  const isolated = <T>(
    kind: FaultyObject['kind'],
    objects: readonly DeepReadonly<KubeObject>[],
    read: (object: DeepReadonly<KubeObject>) => T,
  ): T[] =>
    objects.flatMap((object) => {
      const { name = '', resourceVersion = '' } = object.metadata;
      return modules.faults.isolate<T[]>(
        { kind, cluster: systemAdminCluster, name, version: resourceVersion },
        () => [read(object)],
        () => [],
      );
    });
  let isScheduled = false;
  const configure = (): void => {
    isScheduled = false;
    controller.configure({
      schemas: isolated(
        'FlowSchema',
        withMandatory(schemas.list({ cluster: systemAdminCluster }), bootstrapFlowSchemas()),
        flowSchemaOf,
      ),
      levels: isolated(
        'PriorityLevelConfiguration',
        withMandatory(levels.list({ cluster: systemAdminCluster }), bootstrapPriorityLevels()),
        priorityLevelOf,
      ),
    });
  };
  // Objects change together, most of all at the first start.
  const changed = (_object: unknown, { cluster }: { readonly cluster: string }): void => {
    if (cluster !== systemAdminCluster || isScheduled) return;
    isScheduled = true;
    clock.after(100, configure);
  };
  for (const informer of [schemas, levels]) {
    informer.addHandlers({
      added: changed,
      updated: (object, _old, reference) => changed(object, reference),
      deleted: changed,
    });
  }
  return controller;
}

function withMandatory(
  objects: readonly DeepReadonly<KubeObject>[],
  defaults: readonly KubeObject[],
): DeepReadonly<KubeObject>[] {
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  const missing = defaults.filter(({ metadata: { name = '' } }) => mandatory.has(name) && !names.has(name));
  return [...objects, ...missing];
}

function objectCount(info: RequestInfo, { resolver, cache }: Modules): number | undefined {
  const { cluster } = info;
  if (cluster === undefined) return undefined;
  try {
    const definition = resolver.resolve(cluster, info.group, info.version, info.resource, info.identity);
    if (definition?.storage === undefined) return undefined;
    const prefix = listPrefix(definition.storage.prefix, cluster, info.namespace);
    return cache.snapshot(prefix).countFrom(prefix);
  } catch {
    // The endpoint reports the same problem.
    return undefined;
  }
}

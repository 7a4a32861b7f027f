import {
  isLogicalClusterName,
  type DeepReadonly,
  type LogicalClusterName,
  type ObjectMeta,
} from '@multiplane/apimachinery';
import {
  appliedLimitsAnnotation,
  formatSettings,
  inheritedLimits,
  inheritedLimitsAnnotation,
  limitAnnotations,
  type EffectiveLimits,
} from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { logicalClusters, shardAnnotation, workspaces, type LogicalCluster, type Workspace } from './kinds.ts';
import type { LogicalClusterAccess } from './logical-cluster-access.ts';

/** The limits in force in a logical cluster of this shard, which its children inherit; undefined for an unknown one. */
export type LimitsOfParent = (
  cluster: LogicalClusterName,
) => { readonly path: string; readonly limits: EffectiveLimits } | undefined;

export interface WorkspaceLimitsModules extends ControllerModules {
  readonly limitsOfParent: LimitsOfParent;
  readonly logicalClusters: Pick<LogicalClusterAccess, 'annotate' | 'cached'>;
  readonly health: { isAlive(shard: string): boolean };
}

/** Delay after which a shard that is not alive is checked again. */
const deadShardRecheckMs = 5_000;
/** Prefix of the keys of logical clusters whose children are to be checked. */
const children = 'children:';
const limitKeys: readonly string[] = [...Object.values(limitAnnotations), inheritedLimitsAnnotation];

/**
 * Passes the limits of workspaces down the tree. What a Workspace's own annotations and the limits in force in its parent
 * amount to is written to its LogicalCluster, on whatever shard that is; the change of that object makes the controller of
 * its shard continue with its children. The Workspace records what was written, so that a LogicalCluster on another shard is
 * only contacted when that differs. A tree without limits causes no writes.
 */
export function workspaceLimitsController(
  options: { readonly shardName: string },
  modules: WorkspaceLimitsModules,
): Controller {
  const { informers, client, limitsOfParent } = modules;
  const lister = informers.informer<Workspace>(workspaces);
  const controller: Controller = new Controller({ name: 'workspace-limits', reconcile, workers: 16 }, modules);
  lister.addHandlers({
    added: (workspace, reference) => enqueueIfOutdated(workspace, reference.cluster),
    updated: (workspace, _old, reference) => enqueueIfOutdated(workspace, reference.cluster),
  });
  informers.informer<LogicalCluster>(logicalClusters).addHandlers({
    added: ({ metadata }, { cluster }) => {
      if (limitKeys.some((key) => metadata.annotations?.[key] !== undefined)) enqueueChildren(cluster);
    },
    updated: ({ metadata }, old, { cluster }) => {
      const before = old.metadata.annotations;
      if (limitKeys.some((key) => metadata.annotations?.[key] !== before?.[key])) enqueueChildren(cluster);
    },
  });

  function enqueueChildren(cluster: LogicalClusterName): void {
    controller.queue.add(children + cluster);
  }

  /** In time slices: a logical cluster may have very many children. */
  async function addChildren(cluster: LogicalClusterName): Promise<void> {
    const slices = timeSlices();
    for (const { name } of informers.metadata.list({ cluster, resource: workspaces })) {
      controller.queue.add(keyOf({ cluster, namespace: '', name }));
      if (slices.isExceeded) await slices.yield();
    }
  }

  function enqueueIfOutdated(workspace: DeepReadonly<Workspace>, cluster: LogicalClusterName): void {
    if (outdated(workspace, cluster) !== undefined)
      controller.queue.add(keyOf({ cluster, namespace: '', name: workspace.metadata.name ?? '' }));
  }

  /** What the LogicalCluster of a Workspace is to inherit, if that is not what it was given last. */
  function outdated(
    { metadata, spec }: DeepReadonly<Workspace>,
    parent: LogicalClusterName,
  ): { readonly wanted: string | undefined; readonly cluster: LogicalClusterName } | undefined {
    const { cluster } = spec ?? {};
    if (cluster === undefined || !isLogicalClusterName(cluster) || metadata.deletionTimestamp !== undefined)
      return undefined;
    const above = limitsOfParent(parent);
    if (above === undefined) return undefined;
    const wanted = formatSettings(inheritedLimits(above, metadata.annotations));
    const recorded = metadata.annotations?.[appliedLimitsAnnotation];
    // A LogicalCluster on this shard may have been restored or changed since.
    const local = modules.logicalClusters.cached(shardOf(metadata), cluster);
    const given = local === undefined ? recorded : local.metadata.annotations?.[inheritedLimitsAnnotation];
    return wanted === recorded && wanted === given ? undefined : { wanted, cluster };
  }

  function shardOf({ annotations }: DeepReadonly<ObjectMeta>): string {
    return annotations?.[shardAnnotation] ?? options.shardName;
  }

  async function reconcile(key: string): Promise<number | void> {
    if (key.startsWith(children)) return addChildren(key.slice(children.length) as LogicalClusterName);
    const reference = referenceOf(key);
    const workspace = lister.get(reference);
    const change = workspace && outdated(workspace, reference.cluster);
    if (change === undefined) return undefined;
    const shard = shardOf(workspace?.metadata ?? {});
    if (!modules.health.isAlive(shard)) return deadShardRecheckMs;
    const annotations = (name: string): { metadata: { annotations: Record<string, string | null> } } => ({
      metadata: { annotations: { [name]: change.wanted ?? null } },
    });
    await modules.logicalClusters.annotate(shard, change.cluster, annotations(inheritedLimitsAnnotation));
    await client.patch(workspaces, reference, 'application/merge-patch+json', annotations(appliedLimitsAnnotation), {
      discardResult: true,
    });
    return undefined;
  }

  return controller;
}

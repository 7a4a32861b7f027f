import { clusterAnnotation, type JsonObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { setKcpCondition } from '../runtime/kcp-conditions.ts';
import { workspaceTypes, type WorkspaceType } from './kinds.ts';
import { lifecycleId } from './workspace-type-closure.ts';

interface WorkspaceTypeControllerModules extends ControllerModules {
  /** Shards of the installation. */
  readonly globalInformers: InformerSource;
}

/**
 * Writes the URLs of the initializing and terminating virtual workspaces of every shard to the status of each
 * WorkspaceType, sorted by shard (kcp: pkg/reconciler/tenancy/workspacetype). A change of a shard requeues all types,
 * which are few.
 */
export function workspaceTypeController(modules: WorkspaceTypeControllerModules): Controller {
  const { informers, client, clock, globalInformers } = modules;
  const types = informers.informer<WorkspaceType>(workspaceTypes);
  const allShards = globalInformers.informer<Shard>(shards);
  const controller: Controller = new Controller({ name: 'workspacetype', reconcile }, modules);
  types.addHandlers({
    added: (_object, reference) => controller.queue.add(keyOf(reference)),
    updated: (_object, _old, reference) => controller.queue.add(keyOf(reference)),
  });
  const enqueueAll = (): void => {
    for (const { metadata } of types.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      controller.queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
    }
  };
  allShards.addHandlers({
    added: enqueueAll,
    updated: (shard, old) => {
      if (shard.spec.virtualWorkspaceURL !== old.spec.virtualWorkspaceURL) enqueueAll();
    },
    deleted: enqueueAll,
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const type = types.get(reference);
    if (type === undefined || type.metadata.deletionTimestamp !== undefined) return;
    const id = lifecycleId(type);
    const virtualWorkspaces = allShards
      .list()
      .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .flatMap(({ spec }) =>
        spec.virtualWorkspaceURL === undefined ? [] : [spec.virtualWorkspaceURL.replace(/\/$/, '')],
      )
      .flatMap((base) => [
        { url: `${base}/services/initializingworkspaces/${id}`, type: 'initializing' },
        { url: `${base}/services/terminatingworkspaces/${id}`, type: 'terminating' },
      ]);
    const now = new Date(clock.now());
    let conditions = setKcpCondition(
      type.status?.conditions,
      { type: 'VirtualWorkspaceURLsReady', status: 'True' },
      now,
    );
    conditions = setKcpCondition(conditions, { type: 'Ready', status: 'True' }, now);
    const status = { ...type.status, conditions, virtualWorkspaces };
    await updateStatus(client, workspaceTypes, reference.cluster, type, status as unknown as JsonObject);
  }
  return controller;
}

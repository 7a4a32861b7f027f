import { clusterAnnotation, type JsonObject } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/update-status.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { setKcpCondition } from './kcp-conditions.ts';
import { workspaceTypes, type WorkspaceType } from './kinds.ts';
import { lifecycleId } from './workspace-type-closure.ts';

interface WorkspaceTypeControllerModules extends ControllerModules {
  /** Shards of the whole installation. */
  readonly globalInformers: InformerSource;
}

/**
 * Tells the controllers of a type where they find their workspaces: the virtual workspaces of every shard, in the order
 * of the shards' names (C5.3). They are the same for all types but for the type's id, so a change of a shard concerns
 * every type; types are few.
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
  const all = (): void => {
    for (const { metadata } of types.list()) {
      const cluster = metadata.annotations?.[clusterAnnotation] ?? '';
      controller.queue.add(`${cluster}|/${metadata.name ?? ''}`);
    }
  };
  allShards.addHandlers({
    added: all,
    updated: (shard, old) => {
      if (shard.spec.virtualWorkspaceURL !== old.spec.virtualWorkspaceURL) all();
    },
    deleted: all,
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

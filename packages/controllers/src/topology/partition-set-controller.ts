import { clusterAnnotation, deepEqual, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards } from '../sharding/kinds.ts';
import { partitions, partitionSets, type Partition, type PartitionSet } from './kinds.ts';
import { PartitionSetReconciler, type PartitionSetModules } from './partition-set-reconcile.ts';

/**
 * Keeps the Partitions of each PartitionSet (kcp: pkg/reconciler/topology/partitionset): creates missing ones, deletes
 * those without shards, and deletes duplicates, which a create that the informer has not shown yet can cause. Partitions
 * without an owner reference to the set are not changed.
 */
export function partitionSetController(modules: PartitionSetModules): Controller {
  const { informers, globalInformers } = modules;
  const sets = informers.informer<PartitionSet>(partitionSets);
  const reconciler = new PartitionSetReconciler(modules);
  const controller: Controller = new Controller(
    { name: 'partitionset', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;
  sets.addHandlers({
    added: (_object, reference) => queue.add(keyOf(reference)),
    updated: (_object, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOwner = (object: DeepReadonly<Partition>, { cluster }: ObjectReference): void => {
    const owner = object.metadata.ownerReferences?.find(
      ({ controller: isController, kind }) => isController === true && kind === 'PartitionSet',
    );
    if (owner !== undefined) queue.add(keyOf({ cluster, namespace: '', name: owner.name }));
  };
  informers.informer<Partition>(partitions).addHandlers({
    updated: (object, _old, reference) => enqueueOwner(object, reference),
    deleted: enqueueOwner,
  });
  const enqueueAll = (): void => {
    for (const { metadata } of sets.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
    }
  };
  globalInformers.informer(shards).addHandlers({
    added: enqueueAll,
    updated: (shard, old) => {
      if (!deepEqual(shard.metadata.labels ?? {}, old.metadata.labels ?? {})) enqueueAll();
    },
    deleted: enqueueAll,
  });
  return controller;
}

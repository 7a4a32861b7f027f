import type { LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { isMarkedInactive } from './inactive.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from './kinds.ts';
import { coalesceMs } from './logical-cluster-deletion.ts';
import {
  LogicalClusterReconciler,
  type LogicalClusterOptions,
  type LogicalClusterReconcilerModules,
} from './logical-cluster-reconcile.ts';
import { adminBindingName, clusterRoleBindings } from './workspace-admin-binding.ts';
import { hasLeftScheduling } from './workspace-scheduler.ts';

interface LogicalClusterControllerModules extends Omit<LogicalClusterReconcilerModules, 'failuresOf'> {
  /** APIExports of all shards, which default bindings may wait for. */
  readonly globalInformers: InformerSource;
}

/**
 * The lifecycle of logical clusters (kcp: pkg/reconciler/core/logicalcluster, core/logicalclusterdeletion and
 * tenancy/initialization):
 *
 * ```
 * Scheduling → Initializing → Ready ⇄ Inactive
 *                  │ waits for status.initializers: the system's are run here, the others by controllers of their types
 *     deleted → Terminating → Deleting → removed
 *                  │ waits for status.terminators with all content in place, then deletes the content
 * ```
 *
 * Labels and finalizers follow from the status, never the other way round. A logical cluster with the system's initializers
 * only goes from Scheduling to Ready in one write. Queued: a logical cluster for its own changes, for its admin binding,
 * for bindings and exports it waits for, and for deletions of its content.
 */
export function logicalClusterController(
  options: LogicalClusterOptions,
  modules: LogicalClusterControllerModules,
): Controller {
  const { informers, globalInformers } = modules;
  const controller: Controller = new Controller(
    { name: 'logicalcluster', reconcile: (key) => reconciler.reconcile(key), workers: 16 },
    modules,
  );
  const { queue } = controller;
  const reconciler = new LogicalClusterReconciler(options, { ...modules, failuresOf: (key) => queue.failuresOf(key) });
  informers.informer<LogicalCluster>(logicalClusters).addHandlers({
    added: (_object, reference, isInInitialList) => queue.add(keyOf(reference), isInInitialList),
    updated: (object, old, reference) => {
      // Scheduling to Ready in one write was written here and leaves no work.
      const isReady = object.status?.phase === 'Ready' && !isMarkedInactive(object);
      if (!isReady || hasLeftScheduling(old)) queue.add(keyOf(reference));
    },
    deleted: (_old, { cluster }) => reconciler.deleter.forget(cluster),
  });
  const enqueueOfAdminBinding = ({ cluster, name }: { cluster: LogicalClusterName; name: string }): void => {
    if (name === adminBindingName) queue.add(logicalClusterKey(cluster));
  };
  informers.informer(clusterRoleBindings).addHandlers({
    updated: (_object, _old, reference) => enqueueOfAdminBinding(reference),
    deleted: (_old, reference) => enqueueOfAdminBinding(reference),
  });
  informers.informer<APIBinding>(apiBindings).addHandlers({
    updated: (_binding, _old, { cluster }) => {
      const key = logicalClusterKey(cluster);
      if (reconciler.waitingForBindings.has(key)) queue.add(key);
    },
  });
  const enqueueWaiting = (): void => reconciler.waitingForBindings.forEach((key) => queue.add(key));
  globalInformers.informer<APIExport>(apiExports).addHandlers({ added: enqueueWaiting, updated: enqueueWaiting });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: ({ cluster, namespace }) => {
      // Objects in namespaces are counted by the namespace controller.
      if (namespace !== '') return;
      if (reconciler.deleter.contentDeleted(cluster)) queue.addAfter(logicalClusterKey(cluster), coalesceMs);
    },
  });
  return controller;
}

const logicalClusterKey = (cluster: LogicalClusterName): string =>
  keyOf({ cluster, namespace: '', name: logicalClusterObjectName });

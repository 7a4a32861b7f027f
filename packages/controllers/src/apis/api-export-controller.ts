import { clusterAnnotation, type LogicalClusterName } from '@multiplane/apimachinery';
import { apiExportEndpointSlices, apiExports, type APIExport } from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { secrets } from './api-export-identity.ts';
import { APIExportReconciler, type APIExportOptions } from './api-export-reconcile.ts';

/**
 * Gives every APIExport its identity, its default endpoint slice and, behind a feature gate, its virtual workspace URLs
 * (kcp: pkg/reconciler/apis/apiexport). Queued: an export for its own changes, for the deletion of its slice and for
 * changes of its identity secret; all exports for changes of shards.
 */
export function apiExportController(
  options: APIExportOptions,
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { informers, globalInformers } = modules;
  const exports = informers.informer<APIExport>(apiExports);
  const reconciler = new APIExportReconciler(options, modules);
  const controller: Controller = new Controller(
    { name: 'apiexport', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;
  exports.addHandlers({
    added: (_object, reference, isInInitialList) => queue.add(keyOf(reference), isInInitialList),
    updated: (_object, _old, reference) => queue.add(keyOf(reference)),
  });
  informers.informer(apiExportEndpointSlices).addHandlers({
    deleted: (_old, { cluster, name }) => {
      const reference = { cluster, namespace: '', name };
      if (exports.get(reference) !== undefined) queue.add(keyOf(reference));
    },
  });
  const enqueueOfSecret = (cluster: LogicalClusterName, namespace: string, name: string): void => {
    for (const { metadata, spec } of exports.list({ cluster })) {
      const secretRef = spec?.identity?.secretRef;
      if (secretRef?.name === name && secretRef.namespace === namespace)
        queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
    }
  };
  informers.informer(secrets).addHandlers({
    added: (_object, { cluster, namespace, name }) => enqueueOfSecret(cluster, namespace, name),
    updated: (_object, _old, { cluster, namespace, name }) => enqueueOfSecret(cluster, namespace, name),
  });
  if (options.virtualWorkspaceUrls) {
    const enqueueAll = (): void => {
      for (const { metadata } of exports.list()) {
        const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
        queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
      }
    };
    globalInformers.informer<Shard>(shards).addHandlers({
      added: enqueueAll,
      updated: (shard, old) => {
        if (shard.spec.virtualWorkspaceURL !== old.spec.virtualWorkspaceURL) enqueueAll();
      },
      deleted: enqueueAll,
    });
  }
  return controller;
}

import { clusterAnnotation, deepEqual, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExports,
  apiExportScopes,
  apiExportScopeSets,
  type APIExport,
  type APIExportScope,
  type APIExportScopeSet,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { shards } from '../sharding/kinds.ts';
import type { ScopeControllerModules } from './scope-reconcile.ts';
import { ScopeSetReconciler } from './scope-set-reconcile.ts';

/**
 * Keeps one APIExportScope per value of an APIExportScopeSet: creates missing ones, updates them to the template, and deletes
 * those whose value is no longer listed. The values are a list, or those that the shards report as occurring
 * (`scope-report-controller.ts`). Scopes without an owner reference to the set are not changed; if one has the name that a
 * value needs, the condition ScopesReady reports it.
 */
export function scopeSetController(modules: ScopeControllerModules): Controller {
  const { informers, globalInformers } = modules;
  const sets = informers.informer<APIExportScopeSet>(apiExportScopeSets);
  const byExport = new ExportReferenceIndex<APIExportScopeSet>(
    { referenceIn: ({ spec }) => spec?.export ?? {} },
    { informer: sets },
  );
  const controller: Controller = new Controller(
    { name: 'apiexportscopeset', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;
  const reconciler = new ScopeSetReconciler({ ...modules, requeue: (key) => queue.add(key) });
  sets.addHandlers({
    added: (_set, reference) => queue.add(keyOf(reference)),
    updated: (_set, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOwner = (scope: DeepReadonly<APIExportScope>, { cluster }: ObjectReference): void => {
    for (const { kind, name } of scope.metadata.ownerReferences ?? [])
      if (kind === 'APIExportScopeSet') queue.add(keyOf({ cluster, namespace: '', name }));
  };
  informers.informer<APIExportScope>(apiExportScopes).addHandlers({
    updated: (scope, old, reference) => {
      if (!deepEqual(scope.spec ?? null, old.spec ?? null)) enqueueOwner(scope, reference);
    },
    deleted: enqueueOwner,
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of byExport.of(object, reference)) queue.add(key);
  };
  globalInformers.informer<APIExport>(apiExports).addHandlers({
    added: enqueueOfExport,
    updated: (object, old, reference) => {
      if (object.status?.identityHash !== old.status?.identityHash) enqueueOfExport(object, reference);
    },
    deleted: enqueueOfExport,
  });
  globalInformers.informer(shards).addHandlers({
    deleted: (_shard, { name }) => {
      for (const { metadata, status } of sets.list()) {
        if (status?.shards?.some((report) => report.name === name) !== true) continue;
        const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
        queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
      }
    },
  });
  return controller;
}

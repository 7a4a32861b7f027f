import { deepEqual, type DeepReadonly } from '@multiplane/apimachinery';
import { apiExportScopes, apiExportScopeSets, type APIExportScope, type APIExportScopeSet } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { enqueueByExportAndShard } from './enqueue-by-export-and-shard.ts';
import { enqueueBySchema } from './enqueue-by-schema.ts';
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
  enqueueByExportAndShard(sets, byExport, queue, globalInformers);
  enqueueBySchema(byExport, queue, globalInformers);
  return controller;
}

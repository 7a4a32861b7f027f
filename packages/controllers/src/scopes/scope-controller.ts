import { type DeepReadonly } from '@multiplane/apimachinery';
import {
  apiExportScopeEndpointSlices,
  apiExportScopes,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { Controller } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { enqueueByExportAndShard } from './enqueue-by-export-and-shard.ts';
import { enqueueBySchema } from './enqueue-by-schema.ts';
import { KeyIndex } from './key-index.ts';
import { scopeExportReference, scopeKeyOfSlice, scopeSelectorText } from './scope-references.ts';
import { ScopeReconciler, type ScopeControllerModules } from './scope-reconcile.ts';

/**
 * Brings APIExportScopes into force: finds the export, checks that no older scope has its key and value, creates the endpoint slice, and
 * writes conditions, and events for what went wrong. A scope is queued when it changes, when its export, the schemas of it or its slices change,
 * when another scope with its key and value changes on any shard, and when a shard that reports about it is removed.
 */
export function scopeController(modules: ScopeControllerModules): Controller {
  const { informers, globalInformers } = modules;
  const scopes = informers.informer<APIExportScope>(apiExportScopes);
  const allScopes = globalInformers.informer<APIExportScope>(apiExportScopes);
  const byExport = new ExportReferenceIndex({ referenceIn: scopeExportReference }, { informer: scopes });
  const bySelector = new KeyIndex({ textOf: scopeSelectorText }, { informer: allScopes });
  const controller: Controller = new Controller(
    { name: 'apiexportscope', reconcile: (key) => reconciler.reconcile(key) },
    modules,
  );
  const { queue } = controller;
  const reconciler = new ScopeReconciler({
    ...modules,
    peers: (text) => bySelector.of(text),
    requeue: (key) => queue.add(key),
  });

  scopes.addHandlers({
    added: (_scope, reference) => queue.add(keyOf(reference)),
    updated: (_scope, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueuePeers = (scope: DeepReadonly<APIExportScope>, reference: ObjectReference): void => {
    const text = scopeSelectorText(scope);
    if (text === undefined) return;
    for (const key of bySelector.of(text)) if (key !== keyOf(reference)) queue.add(key);
  };
  allScopes.addHandlers({ added: enqueuePeers, deleted: enqueuePeers });
  enqueueByExportAndShard(scopes, byExport, queue, globalInformers);
  enqueueBySchema(byExport, queue, globalInformers);
  const enqueueOfSlice = (slice: DeepReadonly<APIExportScopeEndpointSlice>, reference: ObjectReference): void =>
    queue.add(scopeKeyOfSlice(slice, reference));
  informers.informer<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices).addHandlers({
    added: enqueueOfSlice,
    updated: (slice, _old, reference) => enqueueOfSlice(slice, reference),
    deleted: enqueueOfSlice,
  });
  return controller;
}

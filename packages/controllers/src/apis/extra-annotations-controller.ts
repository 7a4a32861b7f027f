import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, extraAnnotationPrefix, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { addAll } from '../runtime/add-all.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';
import type { ExportReferenceIndex } from './export-reference-index.ts';
import { ExportFinder } from './export-finder.ts';
import { bindingExportReference, isDifferentExport } from './export-reference.ts';

/**
 * Keeps the annotations `extra.apis.kcp.io/…` of bindings equal to those of their export (kcp:
 * pkg/reconciler/apis/extraannotationsync), and removes them once the export is deleted.
 */
export function extraAnnotationsController(
  modules: ControllerModules & {
    readonly globalInformers: InformerSource;
    readonly exports: PathAndNameLookup<APIExport>;
    readonly byExport: ExportReferenceIndex<APIBinding>;
  },
): Controller {
  const { informers, globalInformers, client, exports, byExport } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const controller: Controller = new Controller({ name: 'extra-annotations', reconcile }, modules);
  const finder = new ExportFinder({ exports, requeue: (key) => controller.queue.add(key) });
  const enqueueOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    addAll(controller.queue, byExport.of(object, reference));
  };
  bindings.addHandlers({
    added: (binding, reference) => {
      if (!hasNothingToSync(binding)) controller.queue.add(keyOf(reference));
    },
    updated: (binding, old, reference) => {
      if (JSON.stringify(extraOf(binding)) !== JSON.stringify(extraOf(old))) controller.queue.add(keyOf(reference));
    },
  });
  globalInformers.informer<APIExport>(apiExports).addHandlers({
    added: (object, reference) => {
      if (extraOf(object).length > 0) enqueueOfExport(object, reference);
    },
    updated: (object, old, reference) => {
      if (JSON.stringify(extraOf(object)) !== JSON.stringify(extraOf(old))) enqueueOfExport(object, reference);
    },
    deleted: (old, reference) => {
      if (extraOf(old).length > 0) enqueueOfExport(old, reference);
    },
  });

  /** True for most bindings: neither they nor their export have such annotations. */
  function hasNothingToSync(binding: DeepReadonly<APIBinding>): boolean {
    const { apiExportClusterName: cluster = '' } = binding.status ?? {};
    const { name = '' } = binding.spec?.reference?.export ?? {};
    if (cluster === '' || name === '' || extraOf(binding).length > 0) return false;
    const object = globalInformers
      .informer<APIExport>(apiExports)
      .get({ cluster: cluster as LogicalClusterName, namespace: '', name });
    return object !== undefined && extraOf(object).length === 0;
  }

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const binding = bindings.get(reference);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) return;
    const object = finder.find(bindingExportReference(binding), reference);
    if (object === 'not-synced') return;
    const current = new Map(extraOf(binding));
    // The annotations of an export that took over the path of a deleted one are not for its bindings.
    const wanted = new Map(object === 'absent' || isDifferentExport(object, binding) ? [] : extraOf(object));
    const changes: [string, string | null][] = [...wanted].filter(
      ([annotation, value]) => current.get(annotation) !== value,
    );
    for (const annotation of current.keys()) if (!wanted.has(annotation)) changes.push([annotation, null]);
    if (changes.length === 0) return;
    const { uid = '' } = binding.metadata;
    await ignoreReasons(['NotFound'], () =>
      client.patch(apiBindings, reference, 'application/merge-patch+json', {
        metadata: { uid, annotations: Object.fromEntries(changes) },
      }),
    );
  }
  return controller;
}

/** The annotations with the prefix, sorted by name. */
const extraOf = ({ metadata }: DeepReadonly<KubeObject>): (readonly [string, string])[] =>
  Object.keys(metadata.annotations ?? {})
    .filter((annotation) => annotation.startsWith(extraAnnotationPrefix))
    .sort()
    .map((annotation) => [annotation, metadata.annotations?.[annotation] as string]);

import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, extraAnnotationPrefix, type APIBinding, type APIExport } from '@multiplane/apis';
import type { InformerSource, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { addAll } from '../runtime/add-all.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring } from '../runtime/update-status.ts';
import { exportOfBinding, isAnotherOne, pathOf, type ExportReferrers } from './export-finder.ts';

/** Copies annotations `extra.apis.kcp.io/…` of an export to its bindings, and takes back those it no longer has (C5.15). */
export function extraAnnotationsController(
  modules: ControllerModules & {
    readonly globalInformers: InformerSource;
    readonly exports: PathAndNameLookup<APIExport>;
    readonly byExport: ExportReferrers<APIBinding>;
  },
): Controller {
  const { informers, globalInformers, client, exports, byExport } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const controller: Controller = new Controller({ name: 'extra-annotations', reconcile }, modules);
  const ofExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    addAll(controller.queue, byExport.of(object, reference));
  };
  bindings.addHandlers({
    added: (binding, reference) => {
      if (!isSettledWithout(binding)) controller.queue.add(keyOf(reference));
    },
    updated: (binding, old, reference) => {
      if (JSON.stringify(extraOf(binding)) !== JSON.stringify(extraOf(old))) controller.queue.add(keyOf(reference));
    },
  });
  globalInformers.informer<APIExport>(apiExports).addHandlers({
    added: (object, reference) => {
      if (extraOf(object).length > 0) ofExport(object, reference);
    },
    updated: (object, old, reference) => {
      if (JSON.stringify(extraOf(object)) !== JSON.stringify(extraOf(old))) ofExport(object, reference);
    },
  });

  /** Most bindings have none and get none. Of an export that is not known yet its own event will tell. */
  function isSettledWithout(binding: DeepReadonly<APIBinding>): boolean {
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
    const wanted = exportOfBinding(binding);
    const object = exports.byPathAndName(pathOf(wanted, reference.cluster), wanted.name ?? '');
    // What an export that is gone said last stays true, whoever has its path now.
    if (object === undefined || isAnotherOne(object, binding)) return;
    const has = new Map(extraOf(binding));
    const offered = new Map(extraOf(object));
    const changes: [string, string | null][] = [...offered].filter(
      ([annotation, value]) => has.get(annotation) !== value,
    );
    for (const annotation of has.keys()) if (!offered.has(annotation)) changes.push([annotation, null]);
    if (changes.length === 0) return;
    const { uid = '' } = binding.metadata;
    await ignoring(['NotFound'], () =>
      client.patch(apiBindings, reference, 'application/merge-patch+json', {
        metadata: { uid, annotations: Object.fromEntries(changes) },
      }),
    );
  }
  return controller;
}

/** In the order of their names. */
const extraOf = ({ metadata }: DeepReadonly<KubeObject>): (readonly [string, string])[] =>
  Object.keys(metadata.annotations ?? {})
    .filter((annotation) => annotation.startsWith(extraAnnotationPrefix))
    .sort()
    .map((annotation) => [annotation, metadata.annotations?.[annotation] as string]);

import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { apiExports, apiResourceSchemas, type APIExport, type APIResourceSchema } from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import type { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { referenceOfExport } from '../apis/export-reference.ts';
import type { Controller } from '../runtime/controller.ts';

/** Queues the objects of an APIExport when an APIResourceSchema that it names appears or is deleted. */
export function enqueueBySchema(
  byExport: Pick<ExportReferenceIndex<KubeObject>, 'of'>,
  queue: Controller['queue'],
  globalInformers: InformerSource,
): void {
  const exports = globalInformers.informer<APIExport>(apiExports);
  const enqueue = (_schema: DeepReadonly<APIResourceSchema>, { cluster, name }: ObjectReference): void => {
    for (const apiExport of exports.list({ cluster }))
      if (apiExport.spec?.resources?.some(({ schema }) => schema === name) === true)
        for (const key of byExport.of(apiExport, referenceOfExport(apiExport))) queue.add(key);
  };
  globalInformers.informer<APIResourceSchema>(apiResourceSchemas).addHandlers({ added: enqueue, deleted: enqueue });
}

import { apiExportEndpointSlices, type APIExportEndpointSlice } from '@multiplane/apis';
import type { Controller } from '../runtime/controller.ts';
import { ExportReferenceIndex } from './export-reference-index.ts';
import { exportPath, referenceOfExport, sliceExportReference } from './export-reference.ts';
import { exportUrl } from './export-url.ts';
import { sliceUrlController, type SliceUrlModules } from './slice-url-controller.ts';

/** Publishes the URL of this shard in APIExportEndpointSlices. */
export function endpointSliceUrlController(
  { shardName }: { readonly shardName: string },
  modules: SliceUrlModules,
): Controller {
  const slices = modules.globalInformers.informer<APIExportEndpointSlice>(apiExportEndpointSlices);
  const byExport = new ExportReferenceIndex({ referenceIn: sliceExportReference }, { informer: slices });
  return sliceUrlController<APIExportEndpointSlice>(
    {
      name: 'apiexportendpointslice-urls',
      shardName,
      resource: apiExportEndpointSlices,
      exportsOf: (slice, { cluster }) => {
        const reference = sliceExportReference(slice);
        try {
          const object = modules.exports.byPathAndName(exportPath(reference, cluster), reference.name ?? '');
          return object === undefined ? [] : [object];
        } catch {
          // The path is ambiguous, which the conditions of the slice report.
          return [];
        }
      },
      slicesOf: (object, reference) => byExport.of(object, reference),
      urlOf: (base, _slice, _reference, exports) => {
        const [object] = exports;
        if (object === undefined) throw new TypeError('an APIExportEndpointSlice has an APIExport');
        const { cluster, name } = referenceOfExport(object);
        return exportUrl(base, cluster, name);
      },
    },
    modules,
  );
}

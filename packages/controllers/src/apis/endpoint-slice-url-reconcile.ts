import {
  isStatusError,
  parseLabelSelector,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExportEndpointSlices,
  type APIBinding,
  type APIExport,
  type APIExportEndpointSlice,
} from '@multiplane/apis';
import type { Lister, ObjectClient, ObjectReference } from '@multiplane/client';
import { referenceOf } from '../runtime/object-key.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import type { EndpointSliceModules } from './endpoint-slice-controller.ts';
import type { ExportReferenceIndex } from './export-reference-index.ts';
import { exportPath, referenceOfExport, sliceExportReference, type ExportReference } from './export-reference.ts';
import { exportUrl } from './export-url.ts';

export interface EndpointSliceUrlModules extends EndpointSliceModules {
  /** The bindings of this shard by export. */
  readonly byExport: ExportReferenceIndex<APIBinding>;
  /** A client that may write the status of a slice, on this shard or another one. */
  readonly clientFor: (slice: DeepReadonly<APIExportEndpointSlice>) => ObjectClient;
}

/** Adds the URL of this shard to an endpoint slice or removes it. */
export class EndpointSliceUrlReconciler {
  readonly #options: { readonly shardName: string };
  readonly #modules: EndpointSliceUrlModules;
  readonly #slices: Lister<APIExportEndpointSlice>;
  readonly #shards: Lister<Shard>;

  constructor(options: { readonly shardName: string }, modules: EndpointSliceUrlModules) {
    this.#options = options;
    this.#modules = modules;
    this.#slices = modules.globalInformers.informer<APIExportEndpointSlice>(apiExportEndpointSlices);
    this.#shards = modules.globalInformers.informer<Shard>(shards);
  }

  /** Undefined if the export does not exist or its path is ambiguous, which the conditions of the referrer report. */
  exportOf(reference: ExportReference, cluster: LogicalClusterName): DeepReadonly<APIExport> | undefined {
    try {
      return this.#modules.exports.byPathAndName(exportPath(reference, cluster), reference.name ?? '');
    } catch {
      return undefined;
    }
  }

  async reconcile(key: string): Promise<void> {
    const { byExport } = this.#modules;
    const reference = referenceOf(key);
    const slice = this.#slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const { conditions = [], endpoints = [], shardSelector = '' } = slice.status ?? {};
    if (conditions.length === 0 || conditions.some(({ status }) => status !== 'True')) return;
    const object = this.exportOf(sliceExportReference(slice), reference.cluster);
    const shard = this.#shards.get(shardReference(this.#options.shardName));
    const base = shard?.spec.virtualWorkspaceURL ?? '';
    if (object === undefined || shard === undefined || base === '') return;
    const exportReference = referenceOfExport(object);
    const url = exportUrl(base, exportReference.cluster, exportReference.name);
    const isListed = endpoints.some((endpoint) => endpoint.url === url);
    if (byExport.of(object, exportReference).size === 0) {
      if (isListed && byExport.hasSynced) await this.#apply(slice, reference, {});
    } else if (!isListed && parseLabelSelector(shardSelector).matches(shard.metadata.labels)) {
      await this.#apply(slice, reference, { endpoints: [{ url }] });
    }
  }

  async #apply(
    slice: DeepReadonly<APIExportEndpointSlice>,
    reference: ObjectReference,
    status: { readonly endpoints?: { url: string }[] },
  ): Promise<void> {
    const configuration = {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIExportEndpointSlice',
      metadata: { name: reference.name },
      status,
    };
    const options = { subresource: 'status', fieldManager: this.#options.shardName, force: true };
    try {
      await this.#modules
        .clientFor(slice)
        .patch(apiExportEndpointSlices, reference, 'application/apply-patch+yaml', configuration, options);
    } catch (error) {
      // A slice of another shard may be deleted before its cached object is.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
}

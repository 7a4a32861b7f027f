import {
  isStatusError,
  parseLabelSelector,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  cachedResourceEndpointSlices,
  type APIBinding,
  type APIExport,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import type { Lister, ObjectClient, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import type { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { bindingExportReference, exportPath } from '../apis/export-reference.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import type { CachedResourceSliceModules } from './cached-resource-slice-reconcile.ts';
import { referenceIn, SliceExports } from './slice-exports.ts';

export interface CachedResourceSliceUrlModules extends Omit<CachedResourceSliceModules, 'cachedResources'> {
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
  readonly byExport: ExportReferenceIndex<APIBinding>;
  /** A client that may write the object, in a logical cluster of this shard or another one. */
  readonly clientFor: (object: DeepReadonly<KubeObject>) => ObjectClient;
}

/** Adds the URL of this shard to a CachedResourceEndpointSlice or removes it. */
export class CachedResourceSliceUrlReconciler {
  readonly #options: { readonly shardName: string };
  readonly #modules: CachedResourceSliceUrlModules;
  readonly #slices: Lister<CachedResourceEndpointSlice>;
  readonly #shards: Lister<Shard>;
  readonly #sliceExports: SliceExports;

  constructor(options: { readonly shardName: string }, modules: CachedResourceSliceUrlModules) {
    const { globalInformers } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#slices = globalInformers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices);
    this.#shards = globalInformers.informer<Shard>(shards);
    this.#sliceExports = new SliceExports({ globalInformers });
  }

  /** Undefined if the export does not exist or its path is ambiguous, which the conditions of the binding report. */
  exportOf(binding: DeepReadonly<APIBinding>, cluster: LogicalClusterName): DeepReadonly<APIExport> | undefined {
    const reference = bindingExportReference(binding);
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
    const shard = this.#shards.get(shardReference(this.#options.shardName));
    const base = shard?.spec.virtualWorkspaceURL ?? '';
    if (shard === undefined || base === '') return;
    const url = replicationUrl(base, reference.cluster, reference.name);
    const isListed = endpoints.some((endpoint) => endpoint.url === url);
    if (conditions.length === 0 || conditions.some(({ status }) => status !== 'True')) return;
    const hasConsumers = this.#sliceExports
      .of(slice, reference)
      .some((one) => byExport.of(one, referenceIn(one)).size > 0);
    if (!hasConsumers) {
      if (isListed && byExport.hasSynced) await this.#apply(slice, reference, {});
    } else if (!isListed && parseLabelSelector(shardSelector).matches(shard.metadata.labels)) {
      await this.#apply(slice, reference, { endpoints: [{ url }] });
    }
  }

  async #apply(
    slice: DeepReadonly<CachedResourceEndpointSlice>,
    reference: ObjectReference,
    status: { readonly endpoints?: { url: string }[] },
  ): Promise<void> {
    const { apiVersion, kind } = slice;
    const configuration = { apiVersion, kind, metadata: { name: reference.name }, status };
    const options = { subresource: 'status', fieldManager: this.#options.shardName, force: true };
    const type = 'application/apply-patch+yaml';
    try {
      await this.#modules.clientFor(slice).patch(cachedResourceEndpointSlices, reference, type, configuration, options);
    } catch (error) {
      // A slice of another shard may be deleted before its cached object is.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
}

/** The URL of a slice in the replication virtual workspace; `base` is the shard's URL for virtual workspaces. */
const replicationUrl = (base: string, cluster: LogicalClusterName, name: string): string =>
  `${base.replace(/\/+$/, '')}/services/replication/${cluster}/${name}`;

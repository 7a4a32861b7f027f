import {
  isStatusError,
  parseLabelSelector,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExports,
  apiExportScopeEndpointSlices,
  apiExportScopes,
  scopeInForce,
  scopesApiVersion,
  type APIBinding,
  type APIExport,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
} from '@multiplane/apis';
import type { Lister, ObjectClient, ObjectReference } from '@multiplane/client';
import type { ExportReferenceIndex } from '../apis/export-reference-index.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import type { ScopeControllerModules } from './scope-reconcile.ts';
import { scopeKeyOfSlice, scopeUrl } from './scope-references.ts';

export interface ScopeSliceUrlModules extends ScopeControllerModules {
  /** The bindings of this shard by export. */
  readonly byExport: ExportReferenceIndex<APIBinding>;
  /** A client that may write the object, in a logical cluster of this shard or another one. */
  readonly clientFor: (object: DeepReadonly<KubeObject>) => ObjectClient;
}

/** Adds the URL of this shard to an APIExportScopeEndpointSlice or removes it. */
export class ScopeSliceUrlReconciler {
  readonly #options: { readonly shardName: string };
  readonly #modules: ScopeSliceUrlModules;
  readonly #slices: Lister<APIExportScopeEndpointSlice>;
  readonly #scopes: Lister<APIExportScope>;
  readonly #exports: Lister<APIExport>;
  readonly #shards: Lister<Shard>;

  constructor(options: { readonly shardName: string }, modules: ScopeSliceUrlModules) {
    const { globalInformers } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#slices = globalInformers.informer<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices);
    this.#scopes = globalInformers.informer<APIExportScope>(apiExportScopes);
    this.#exports = globalInformers.informer<APIExport>(apiExports);
    this.#shards = globalInformers.informer<Shard>(shards);
  }

  async reconcile(key: string): Promise<void> {
    const { byExport } = this.#modules;
    const reference = referenceOf(key);
    const slice = this.#slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const { conditions = [], endpoints = [], shardSelector = '' } = slice.status ?? {};
    if (conditions.length === 0 || conditions.some(({ status }) => status !== 'True')) return;
    const exported = this.#exportOf(slice, reference);
    const shard = this.#shards.get(shardReference(this.#options.shardName));
    const base = shard?.spec.virtualWorkspaceURL ?? '';
    if (exported === undefined || shard === undefined || base === '') return;
    const url = scopeUrl(base, reference.cluster, slice.spec?.scope.name ?? '');
    const isListed = endpoints.some((endpoint) => endpoint.url === url);
    if (byExport.of(exported.object, exported.reference).size === 0) {
      if (isListed && byExport.hasSynced) await this.#apply(slice, reference, {});
    } else if (!isListed && parseLabelSelector(shardSelector).matches(shard.metadata.labels)) {
      await this.#apply(slice, reference, { endpoints: [{ url }] });
    }
  }

  /** The export of the slice's scope; undefined if the scope is not in force or the export does not exist. */
  #exportOf(
    slice: DeepReadonly<APIExportScopeEndpointSlice>,
    { cluster }: ObjectReference,
  ): { readonly object: DeepReadonly<APIExport>; readonly reference: ObjectReference } | undefined {
    const scope = this.#scopes.get(referenceOf(scopeKeyOfSlice(slice, { cluster })));
    const inForce = scope === undefined ? undefined : scopeInForce(scope);
    if (inForce === undefined) return undefined;
    const exportCluster = inForce.exportCluster as LogicalClusterName;
    const reference = { cluster: exportCluster, namespace: '', name: inForce.exportName };
    const object = this.#exports.get(reference);
    return object === undefined ? undefined : { object, reference };
  }

  async #apply(
    slice: DeepReadonly<APIExportScopeEndpointSlice>,
    reference: ObjectReference,
    status: { readonly endpoints?: { url: string }[] },
  ): Promise<void> {
    const { name } = reference;
    const kind = 'APIExportScopeEndpointSlice';
    const configuration = { apiVersion: scopesApiVersion, kind, metadata: { name }, status };
    const options = { subresource: 'status', fieldManager: this.#options.shardName, force: true };
    const type = 'application/apply-patch+yaml';
    try {
      await this.#modules.clientFor(slice).patch(apiExportScopeEndpointSlices, reference, type, configuration, options);
    } catch (error) {
      // A slice of another shard may be deleted before its cached object is.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
}

import {
  clusterAnnotation,
  isStatusError,
  parseLabelSelector,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  type APIBinding,
  type APIExport,
  type APIExportEndpointSlice,
} from '@multiplane/apis';
import type { ObjectClient, ObjectReference } from '@multiplane/client';
import { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { shardReference, shards, type Shard } from '../sharding/kinds.ts';
import type { EndpointSliceModules } from './endpoint-slice-controller.ts';
import { exportUrl } from './export-url.ts';
import { ExportReferrers, exportOfBinding, exportOfSlice, pathOf } from './export-finder.ts';

export interface EndpointUrlModules extends EndpointSliceModules {
  readonly byExport: ExportReferrers<APIBinding>;
  /** Who can write an object that lies in a logical cluster of this shard or of another one. */
  readonly writerOf: (object: DeepReadonly<APIExportEndpointSlice>) => ObjectClient;
}

/**
 * Puts the URL of this shard into the endpoint slices of all shards, and takes it out again (C5.14):
 *
 * ```
 *  first binding here to the export ──► apply { endpoints: [own URL] } ──┐  to the slice, wherever it lies,
 *  last binding here gone           ──► apply { }                      ──┘  as field manager <own shard>
 * ```
 *
 * Each shard owns the entry it applied and no other, so they need not know of each other. A slice is looked at when it
 * changes, when this shard gets its first binding to its export or loses its last one, and when what the shard says of
 * itself changes. A slice for shards of other labels keeps the URL of a shard that still has bindings: taking it away
 * would stop those who work there.
 */
export function endpointUrlController(
  options: { readonly shardName: string },
  modules: EndpointUrlModules,
): Controller {
  const { informers, globalInformers, exports, byExport, writerOf } = modules;
  const slices = globalInformers.informer<APIExportEndpointSlice>(apiExportEndpointSlices);
  const allExports = globalInformers.informer<APIExport>(apiExports);
  const allShards = globalInformers.informer<Shard>(shards);
  const bindings = informers.informer<APIBinding>(apiBindings);
  const referrers = new ExportReferrers({ exportOf: exportOfSlice }, { informer: slices });
  const controller: Controller = new Controller({ name: 'apiexportendpointslice-urls', reconcile }, modules);
  const { queue } = controller;

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const ofExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of referrers.of(object, reference)) queue.add(key);
  };
  allExports.addHandlers({ added: ofExport });
  const ofBinding = (binding: DeepReadonly<APIBinding>, from: ObjectReference, last: number): void => {
    const object = exportMeant(exportOfBinding(binding), from.cluster);
    if (object === undefined) return;
    const reference = referenceOfExport(object);
    if (byExport.of(object, reference).size <= last) ofExport(object, reference);
  };
  bindings.addHandlers({
    added: (binding, reference) => ofBinding(binding, reference, 1),
    deleted: (old, reference) => ofBinding(old, reference, 0),
  });
  const addAllSlices = (canWait: boolean): void => {
    for (const { metadata } of slices.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }), canWait);
    }
  };
  // A URL is not taken back for bindings that were only not known yet; what was left as it is then is looked at again.
  void byExport.completed.then(() => addAllSlices(true));
  const shardTouched = ({ name }: ObjectReference): void => {
    if (name === options.shardName) addAllSlices(false);
  };
  allShards.addHandlers({
    added: (_shard, reference) => shardTouched(reference),
    updated: (shard, old, reference) => {
      if (JSON.stringify([shard.spec, shard.metadata.labels]) !== JSON.stringify([old.spec, old.metadata.labels]))
        shardTouched(reference);
    },
  });

  function exportMeant(
    reference: ReturnType<typeof exportOfSlice>,
    cluster: LogicalClusterName,
  ): DeepReadonly<APIExport> | undefined {
    try {
      return exports.byPathAndName(pathOf(reference, cluster), reference.name ?? '');
    } catch {
      // Which one is meant cannot be told; the conditions of the slice and the binding say so.
      return undefined;
    }
  }

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const slice = slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const { conditions = [], endpoints = [], shardSelector = '' } = slice.status ?? {};
    if (conditions.length === 0 || conditions.some(({ status }) => status !== 'True')) return;
    const object = exportMeant(exportOfSlice(slice), reference.cluster);
    const shard = allShards.get(shardReference(options.shardName));
    const base = shard?.spec.virtualWorkspaceURL ?? '';
    if (object === undefined || shard === undefined || base === '') return;
    const at = referenceOfExport(object);
    const url = exportUrl(base, at.cluster, at.name);
    const isListed = endpoints.some((endpoint) => endpoint.url === url);
    if (byExport.of(object, at).size === 0) {
      if (isListed && byExport.isComplete) await apply(slice, reference, {});
    } else if (!isListed && parseLabelSelector(shardSelector).matches(shard.metadata.labels)) {
      await apply(slice, reference, { endpoints: [{ url }] });
    }
  }

  async function apply(
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
    const how = { subresource: 'status', fieldManager: options.shardName, force: true };
    try {
      await writerOf(slice).patch(
        apiExportEndpointSlices,
        reference,
        'application/apply-patch+yaml',
        configuration,
        how,
      );
    } catch (error) {
      // What is replicated is seen a little late: the slice is gone.
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  }
  return controller;
}

const referenceOfExport = ({ metadata }: DeepReadonly<APIExport>): ObjectReference => ({
  cluster: (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName,
  namespace: '',
  name: metadata.name ?? '',
});

import {
  errorText,
  labelSelectorFromObject,
  statusErrors,
  type DeepReadonly,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { apiExportEndpointSlices, apiExports, type APIExport, type APIExportEndpointSlice } from '@multiplane/apis';
import type { InformerSource, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import { partitions, type Partition } from '../topology/kinds.ts';
import { ExportFinder } from './export-finder.ts';
import { ExportReferenceIndex } from './export-reference-index.ts';
import { exportKey, sliceExportReference } from './export-reference.ts';

type Status = NonNullable<APIExportEndpointSlice['status']>;

export interface EndpointSliceModules extends ControllerModules {
  /** Exports of all shards. */
  readonly globalInformers: InformerSource;
  readonly exports: PathAndNameLookup<APIExport>;
}

/**
 * Sets the conditions APIExportValid and PartitionValid and the shard selector of an APIExportEndpointSlice (kcp:
 * pkg/reconciler/apis/apiexportendpointslice). Each shard writes its own endpoint: {@link endpointSliceUrlController}.
 */
export function endpointSliceController(modules: EndpointSliceModules): Controller {
  const { informers, globalInformers, client, clock } = modules;
  const slices = informers.informer<APIExportEndpointSlice>(apiExportEndpointSlices);
  const partitionInformer = informers.informer<Partition>(partitions);
  const byExport = new ExportReferenceIndex({ referenceIn: sliceExportReference }, { informer: slices });
  const controller: Controller = new Controller({ name: 'apiexportendpointslice', reconcile }, modules);
  const { queue } = controller;
  const finder = new ExportFinder({ exports: modules.exports, requeue: (key) => queue.add(key) });

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of byExport.of(object, reference)) queue.add(key);
  };
  globalInformers.informer<APIExport>(apiExports).addHandlers({ added: enqueueOfExport, deleted: enqueueOfExport });
  const enqueueOfPartition = ({ cluster, name }: ObjectReference): void => {
    for (const { metadata, spec } of slices.list({ cluster }))
      if (spec?.partition === name) queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
  };
  partitionInformer.addHandlers({
    added: (_partition, reference) => enqueueOfPartition(reference),
    updated: (_partition, _old, reference) => enqueueOfPartition(reference),
    deleted: (_old, reference) => enqueueOfPartition(reference),
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const slice = slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const status = nextStatus(slice, reference);
    if (status === undefined) return;
    await updateStatus(client, apiExportEndpointSlices, reference.cluster, slice, status as unknown as JsonObject);
  }

  /** Undefined while exports are not synced. */
  function nextStatus(slice: DeepReadonly<APIExportEndpointSlice>, reference: ObjectReference): Status | undefined {
    const now = new Date(clock.now());
    const withCondition = (status: DeepReadonly<Status>, condition: NewKcpCondition): Status => ({
      ...(status as Status),
      conditions: setKcpCondition(status.conditions, condition, now),
    });
    const wanted = sliceExportReference(slice);
    const message = `Error getting APIExport ${exportKey(wanted, reference.cluster)}`;
    const invalid = { type: 'APIExportValid', status: 'False', severity: 'Error', message } as const;
    let found: DeepReadonly<APIExport> | 'absent' | 'not-synced';
    try {
      found = finder.find(wanted, reference);
    } catch {
      return withCondition(slice.status ?? {}, { ...invalid, reason: 'InternalError' });
    }
    if (found === 'not-synced') return undefined;
    if (found === 'absent') {
      const { endpoints: _endpoints, ...withoutEndpoints } = slice.status ?? {};
      return withCondition(withoutEndpoints, { ...invalid, reason: 'APIExportNotFound' });
    }
    const status = withCondition(slice.status ?? {}, { type: 'APIExportValid', status: 'True' });
    let shardSelector: string;
    try {
      shardSelector = shardSelectorOf(slice, reference);
    } catch (error) {
      const { endpoints: _endpoints, ...withoutEndpoints } = status;
      return withCondition(withoutEndpoints, {
        type: 'PartitionValid',
        status: 'False',
        severity: 'Error',
        reason: 'PartitionInvalidReference',
        message: errorText(error),
      });
    }
    const { shardSelector: _old, ...others } = withCondition(status, { type: 'PartitionValid', status: 'True' });
    return { ...others, ...(shardSelector === '' ? {} : { shardSelector }) };
  }

  /** The label selector of the slice's partition; empty selects all shards. Throws NotFound for a missing partition. */
  function shardSelectorOf({ spec }: DeepReadonly<APIExportEndpointSlice>, { cluster }: ObjectReference): string {
    const name = spec?.partition ?? '';
    if (name === '') return '';
    const partition = partitionInformer.get({ cluster, namespace: '', name });
    // kcp's lister names the resource in the singular.
    if (partition === undefined) throw statusErrors.notFound({ group: partitions.group, resource: 'partition' }, name);
    return labelSelectorFromObject((partition.spec?.selector ?? {}) as Json).toString();
  }
  return controller;
}

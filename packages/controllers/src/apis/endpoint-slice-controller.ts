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
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/update-status.ts';
import { setKcpCondition, type KcpCondition } from '../tenancy/kcp-conditions.ts';
import { partitions, type Partition } from '../topology/kinds.ts';
import { ExportFinder, ExportReferrers, exportOfSlice, pathOf } from './export-finder.ts';

type Status = NonNullable<APIExportEndpointSlice['status']>;

export interface EndpointSliceModules extends ControllerModules {
  /** Exports of all shards. */
  readonly globalInformers: InformerSource;
  readonly exports: PathAndNameLookup<APIExport>;
}

/**
 * Says of an endpoint slice whether its export and its partition are there, and which shards it is for (C5.14). The
 * endpoints are each shard's own business: {@link endpointUrlController}.
 */
export function endpointSliceController(modules: EndpointSliceModules): Controller {
  const { informers, globalInformers, client, clock } = modules;
  const informer = informers.informer<APIExportEndpointSlice>(apiExportEndpointSlices);
  const byPartition = informers.informer<Partition>(partitions);
  const referrers = new ExportReferrers({ exportOf: exportOfSlice }, { informer });
  const controller: Controller = new Controller({ name: 'apiexportendpointslice', reconcile }, modules);
  const { queue } = controller;
  const finder = new ExportFinder({ exports: modules.exports, again: (key) => queue.add(key) });

  informer.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const ofExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): void => {
    for (const key of referrers.of(object, reference)) queue.add(key);
  };
  globalInformers.informer<APIExport>(apiExports).addHandlers({ added: ofExport, deleted: ofExport });
  const ofPartition = ({ cluster, name }: ObjectReference): void => {
    for (const { metadata, spec } of informer.list({ cluster }))
      if (spec?.partition === name) queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
  };
  byPartition.addHandlers({
    added: (_partition, reference) => ofPartition(reference),
    updated: (_partition, _old, reference) => ofPartition(reference),
    deleted: (_old, reference) => ofPartition(reference),
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const slice = informer.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const status = judge(slice, reference);
    if (status === undefined) return;
    await updateStatus(client, apiExportEndpointSlices, reference.cluster, slice, status as unknown as JsonObject);
  }

  /** Undefined: it cannot be told yet. */
  function judge(slice: DeepReadonly<APIExportEndpointSlice>, reference: ObjectReference): Status | undefined {
    const now = new Date(clock.now());
    const { endpoints: _endpoints, ...rest } = slice.status ?? {};
    const set = (status: DeepReadonly<Status>, condition: Omit<KcpCondition, 'lastTransitionTime'>): Status => ({
      ...(status as Status),
      conditions: setKcpCondition(status.conditions, condition, now),
    });
    const wanted = exportOfSlice(slice);
    const message = `Error getting APIExport ${pathOf(wanted, reference.cluster)}|${wanted.name ?? ''}`;
    const invalid = { type: 'APIExportValid', status: 'False', severity: 'Error', message } as const;
    let found: DeepReadonly<APIExport> | 'absent' | 'unknown';
    try {
      found = finder.find(wanted, reference);
    } catch {
      return set(slice.status ?? {}, { ...invalid, reason: 'InternalError' });
    }
    if (found === 'unknown') return undefined;
    // There is nothing to reach any more.
    if (found === 'absent') return set(rest, { ...invalid, reason: 'APIExportNotFound' });
    const status = set(slice.status ?? {}, { type: 'APIExportValid', status: 'True' });
    let shardSelector: string;
    try {
      shardSelector = selectorOf(slice, reference);
    } catch (error) {
      const { endpoints: _none, ...without } = status;
      return set(without, {
        type: 'PartitionValid',
        status: 'False',
        severity: 'Error',
        reason: 'PartitionInvalidReference',
        message: errorText(error),
      });
    }
    const { shardSelector: _selector, ...others } = set(status, { type: 'PartitionValid', status: 'True' });
    return { ...others, ...(shardSelector === '' ? {} : { shardSelector }) };
  }

  /** Labels of the shards a slice is for, as text; empty: all. Partitions are known only where they are. */
  function selectorOf({ spec }: DeepReadonly<APIExportEndpointSlice>, { cluster }: ObjectReference): string {
    const name = spec?.partition ?? '';
    if (name === '') return '';
    const partition = byPartition.get({ cluster, namespace: '', name });
    // The message of kcp's lister, which says the singular.
    if (partition === undefined) throw statusErrors.notFound({ group: partitions.group, resource: 'partition' }, name);
    return labelSelectorFromObject((partition.spec?.selector ?? {}) as Json).toString();
  }
  return controller;
}

import {
  errorText,
  labelSelectorFromObject,
  statusErrors,
  type DeepReadonly,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import {
  apiExportScopeEndpointSlices,
  apiExportScopes,
  scopeInForce,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import { partitions, type Partition } from '../topology/kinds.ts';
import { recordConditionEvents } from './condition-events.ts';
import { KeyIndex } from './key-index.ts';
import { scopeKeyOfSlice } from './scope-references.ts';

type Status = NonNullable<APIExportScopeEndpointSlice['status']>;

/**
 * Sets the conditions ScopeValid and PartitionValid and the shard selector of an APIExportScopeEndpointSlice. Each shard writes
 * its own endpoint: `scope-slice-url-controller.ts`.
 */
export function scopeSliceController(modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const slices = informers.informer<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices);
  const scopes = informers.informer<APIExportScope>(apiExportScopes);
  const partitionInformer = informers.informer<Partition>(partitions);
  const controller: Controller = new Controller({ name: 'apiexportscopeendpointslice', reconcile }, modules);
  const { queue } = controller;
  const events = new EventRecorder({ component: 'apiexportscopeendpointslice-controller', counts: true }, modules);

  slices.addHandlers({
    added: (_slice, reference) => queue.add(keyOf(reference)),
    updated: (_slice, _old, reference) => queue.add(keyOf(reference)),
  });
  const byScope = new KeyIndex({ textOf: scopeKeyOfSlice }, { informer: slices });
  const byPartition = new KeyIndex({ textOf: partitionKeyOfSlice }, { informer: slices });
  const ofScope = (reference: ObjectReference): void => {
    for (const key of byScope.of(keyOf(reference))) queue.add(key);
  };
  const ofPartition = (reference: ObjectReference): void => {
    for (const key of byPartition.of(keyOf(reference))) queue.add(key);
  };
  scopes.addHandlers({
    added: (_scope, reference) => ofScope(reference),
    updated: (scope, old, reference) => {
      if (scope.status?.identityHash !== old.status?.identityHash) ofScope(reference);
    },
    deleted: (_old, reference) => ofScope(reference),
  });
  partitionInformer.addHandlers({
    added: (_partition, reference) => ofPartition(reference),
    updated: (_partition, _old, reference) => ofPartition(reference),
    deleted: (_old, reference) => ofPartition(reference),
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const slice = slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const status = nextStatus(slice, reference);
    const { cluster } = reference;
    await recordConditionEvents(events, cluster, slice, slice.status?.conditions, status.conditions);
    await updateStatus(client, apiExportScopeEndpointSlices, cluster, slice, status as unknown as JsonObject);
  }

  function nextStatus(slice: DeepReadonly<APIExportScopeEndpointSlice>, reference: ObjectReference): Status {
    const now = new Date(clock.now());
    const { endpoints, shardSelector: _selector, ...rest } = slice.status ?? {};
    const withCondition = (status: DeepReadonly<Status>, condition: NewKcpCondition): Status => ({
      ...(status as Status),
      conditions: setKcpCondition(status.conditions, condition, now),
    });
    const scope = scopes.get(referenceOf(scopeKeyOfSlice(slice, reference)));
    const name = slice.spec?.scope.name ?? '';
    if (scope === undefined || scopeInForce(scope) === undefined)
      return withCondition(rest, {
        ...invalid('ScopeValid'),
        // The scope has events of its own, and a slice that is created with its scope passes this state.
        ...(scope === undefined ? {} : { severity: 'Info' as const }),
        reason: scope === undefined ? 'ScopeNotFound' : 'ScopeNotInForce',
        message:
          scope === undefined ? `APIExportScope ${name} not found` : `see the conditions of APIExportScope ${name}`,
      });
    const valid = withCondition(rest, { type: 'ScopeValid', status: 'True' });
    let shardSelector: string;
    try {
      shardSelector = shardSelectorOf(slice, reference);
    } catch (error) {
      const reason = 'PartitionInvalidReference';
      return withCondition(valid, { ...invalid('PartitionValid'), reason, message: errorText(error) });
    }
    return {
      ...withCondition(valid, { type: 'PartitionValid', status: 'True' }),
      ...(endpoints === undefined ? {} : { endpoints: endpoints as Required<Status>['endpoints'] }),
      ...(shardSelector === '' ? {} : { shardSelector }),
    };
  }

  /** The label selector of the slice's partition; empty selects all shards. Throws NotFound for a missing partition. */
  function shardSelectorOf({ spec }: DeepReadonly<APIExportScopeEndpointSlice>, { cluster }: ObjectReference): string {
    const name = spec?.partition ?? '';
    if (name === '') return '';
    const partition = partitionInformer.get({ cluster, namespace: '', name });
    if (partition === undefined) throw statusErrors.notFound({ group: partitions.group, resource: 'partition' }, name);
    return labelSelectorFromObject((partition.spec?.selector ?? {}) as Json).toString();
  }
  return controller;
}

const invalid = (type: string): { type: string; status: 'False'; severity: 'Error' } => ({
  type,
  status: 'False',
  severity: 'Error',
});

const partitionKeyOfSlice = (
  { spec }: DeepReadonly<APIExportScopeEndpointSlice>,
  { cluster }: ObjectReference,
): string | undefined =>
  spec?.partition === undefined ? undefined : keyOf({ cluster, namespace: '', name: spec.partition });

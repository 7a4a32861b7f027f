import {
  clusterAnnotation,
  deepEqual,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type LogicalClusterName,
  errorText,
} from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, updateStatus } from '../runtime/update-status.ts';
import { shards } from '../sharding/kinds.ts';
import { setKcpCondition, type KcpCondition } from '../tenancy/kcp-conditions.ts';
import { partitions, partitionSets, type Partition, type PartitionSet } from './kinds.ts';
import { partitionsOf, type WantedPartition } from './partitions-of.ts';

interface PartitionSetControllerModules extends ControllerModules {
  /** Shards of the whole installation. */
  readonly globalInformers: InformerSource;
}

type Condition = Omit<KcpCondition, 'lastTransitionTime'>;

/**
 * Keeps for each PartitionSet the Partitions that its shards make (C5.17): those missing are made, those that no shard
 * makes any more go, and so does a second one of the same shards, which a create seen late can leave. Partitions that
 * somebody made by hand are not its own and stay.
 */
export function partitionSetController(modules: PartitionSetControllerModules): Controller {
  const { informers, client, clock, globalInformers } = modules;
  const sets = informers.informer<PartitionSet>(partitionSets);
  const existing = informers.informer<Partition>(partitions);
  const allShards = globalInformers.informer(shards);
  const controller: Controller = new Controller({ name: 'partitionset', reconcile }, modules);
  sets.addHandlers({
    added: (_object, reference) => controller.queue.add(keyOf(reference)),
    updated: (_object, _old, reference) => controller.queue.add(keyOf(reference)),
  });
  const ownerOf = (object: DeepReadonly<Partition>, { cluster }: { cluster: LogicalClusterName }): void => {
    const owner = object.metadata.ownerReferences?.find(
      ({ controller: isController, kind }) => isController === true && kind === 'PartitionSet',
    );
    if (owner !== undefined) controller.queue.add(keyOf({ cluster, namespace: '', name: owner.name }));
  };
  existing.addHandlers({ updated: (object, _old, reference) => ownerOf(object, reference), deleted: ownerOf });
  const all = (): void => {
    for (const { metadata } of sets.list()) {
      const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
      controller.queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
    }
  };
  allShards.addHandlers({
    added: all,
    updated: (shard, old) => {
      if (!deepEqual(shard.metadata.labels ?? {}, old.metadata.labels ?? {})) all();
    },
    deleted: all,
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const set = sets.get(reference);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    const { cluster } = reference;
    let wanted: readonly WantedPartition[];
    try {
      const labels = allShards.list().map(({ metadata }) => metadata.labels ?? {});
      wanted = partitionsOf(reference.name, set.spec ?? {}, labels);
    } catch (error) {
      await tell(set, cluster, undefined, [failed('PartitionSetValid', 'InvalidSelector', errorText(error))]);
      return;
    }
    const valid: Condition = { type: 'PartitionSetValid', status: 'True' };
    const ready: Condition = { type: 'PartitionsReady', status: 'True' };
    try {
      await bring(set, cluster, wanted);
    } catch (error) {
      const message = error instanceof PartitionError ? error.message : errorText(error);
      await tell(set, cluster, undefined, [valid, failed('PartitionsReady', 'ErrorGeneratingPartitions', message)]);
      throw error;
    }
    await tell(set, cluster, wanted.length, [valid, ready]);
  }

  async function bring(
    set: DeepReadonly<PartitionSet>,
    cluster: LogicalClusterName,
    wanted: readonly WantedPartition[],
  ): Promise<void> {
    const missing = new Map(wanted.map((partition) => [textOfSelector(partition.selector), partition]));
    const own = existing
      .list({ cluster })
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const { metadata, spec } of own) {
      if (missing.delete(textOfSelector(spec?.selector ?? {}))) continue;
      await during('old partition could not get deleted', () =>
        ignoring(['NotFound'], () => client.delete(partitions, { cluster, namespace: '', name: metadata.name ?? '' })),
      );
    }
    for (const { generateName, selector } of missing.values()) {
      const partition = partitionOf(set, generateName, selector);
      await during('partition could not get created', () => client.create(partitions, cluster, partition));
    }
  }

  async function tell(
    set: DeepReadonly<PartitionSet>,
    cluster: LogicalClusterName,
    count: number | undefined,
    changed: readonly Condition[],
  ): Promise<void> {
    const now = new Date(clock.now());
    const { count: before, ...rest } = set.status ?? {};
    let conditions = set.status?.conditions as KcpCondition[] | undefined;
    for (const condition of changed) conditions = setKcpCondition(conditions, condition, now);
    const shown = count ?? before ?? 0;
    // A count of nothing is left out, as by kcp.
    const status = { ...rest, ...(shown === 0 ? {} : { count: shown }), conditions };
    await updateStatus(client, partitionSets, cluster, set, status as unknown as JsonObject);
  }
  return controller;
}

function partitionOf(
  { metadata }: DeepReadonly<PartitionSet>,
  generateName: string,
  selector: WantedPartition['selector'],
): Partition {
  const { name = '', uid = '' } = metadata;
  return {
    apiVersion: 'topology.kcp.io/v1alpha1',
    kind: 'Partition',
    metadata: {
      generateName,
      ownerReferences: [
        {
          apiVersion: 'topology.kcp.io/v1alpha1',
          kind: 'PartitionSet',
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { selector },
  };
}

/** Which of the two writes failed: the condition says no more than that, the log the rest. */
class PartitionError extends Error {
  override readonly name = 'PartitionError';
}

async function during(failure: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    throw new PartitionError(failure, { cause });
  }
}

/** The same text for selectors that select by the same words. */
function textOfSelector({
  matchLabels = {},
  matchExpressions = [],
}: DeepReadonly<WantedPartition['selector']>): string {
  const labels = Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([labels, matchExpressions as Json]);
}

const failed = (type: string, reason: string, message: string): Condition => ({
  type,
  status: 'False',
  severity: 'Error',
  reason,
  message,
});

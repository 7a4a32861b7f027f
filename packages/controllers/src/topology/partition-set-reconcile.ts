import {
  errorText,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { InformerSource, Lister } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type KcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus } from '../runtime/object-writes.ts';
import { shards } from '../sharding/kinds.ts';
import { desiredPartitions, type DesiredPartition } from './desired-partitions.ts';
import { partitions, partitionSets, type Partition, type PartitionSet } from './kinds.ts';

export interface PartitionSetModules extends ControllerModules {
  /** Shards of the installation. */
  readonly globalInformers: InformerSource;
}

/** Creates and deletes the Partitions of one PartitionSet and writes its status. */
export class PartitionSetReconciler {
  readonly #modules: PartitionSetModules;
  readonly #sets: Lister<PartitionSet>;
  readonly #partitions: Lister<Partition>;
  readonly #shards: Lister;

  constructor(modules: PartitionSetModules) {
    const { informers, globalInformers } = modules;
    this.#modules = modules;
    this.#sets = informers.informer<PartitionSet>(partitionSets);
    this.#partitions = informers.informer<Partition>(partitions);
    this.#shards = globalInformers.informer(shards);
  }

  async reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const set = this.#sets.get(reference);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    const { cluster } = reference;
    let desired: readonly DesiredPartition[];
    try {
      const labels = this.#shards.list().map(({ metadata }) => metadata.labels ?? {});
      desired = desiredPartitions(reference.name, set.spec ?? {}, labels);
    } catch (error) {
      const invalid = failed('PartitionSetValid', 'InvalidSelector', errorText(error));
      await this.#writeStatus(set, cluster, undefined, [invalid]);
      return;
    }
    const valid: NewKcpCondition = { type: 'PartitionSetValid', status: 'True' };
    try {
      await this.#syncPartitions(set, cluster, desired);
    } catch (error) {
      const notReady = failed('PartitionsReady', 'ErrorGeneratingPartitions', errorText(error));
      await this.#writeStatus(set, cluster, undefined, [valid, notReady]);
      throw error;
    }
    const ready: NewKcpCondition = { type: 'PartitionsReady', status: 'True' };
    await this.#writeStatus(set, cluster, desired.length, [valid, ready]);
  }

  async #syncPartitions(
    set: DeepReadonly<PartitionSet>,
    cluster: LogicalClusterName,
    desired: readonly DesiredPartition[],
  ): Promise<void> {
    const { client } = this.#modules;
    const missing = new Map(desired.map((partition) => [selectorKey(partition.selector), partition]));
    const owned = this.#partitions
      .list({ cluster })
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const { metadata, spec } of owned) {
      if (missing.delete(selectorKey(spec?.selector ?? {}))) continue;
      const reference = { cluster, namespace: '', name: metadata.name ?? '' };
      await withMessage('old partition could not get deleted', () =>
        ignoreReasons(['NotFound'], () => client.delete(partitions, reference)),
      );
    }
    for (const { generateName, selector } of missing.values()) {
      const partition = newPartition(set, generateName, selector);
      await withMessage('partition could not get created', () => client.create(partitions, cluster, partition));
    }
  }

  async #writeStatus(
    set: DeepReadonly<PartitionSet>,
    cluster: LogicalClusterName,
    count: number | undefined,
    changed: readonly NewKcpCondition[],
  ): Promise<void> {
    const { client, clock } = this.#modules;
    const now = new Date(clock.now());
    const { count: currentCount, ...rest } = set.status ?? {};
    let conditions = set.status?.conditions as KcpCondition[] | undefined;
    for (const condition of changed) conditions = setKcpCondition(conditions, condition, now);
    const shown = count ?? currentCount ?? 0;
    // kcp omits a count of zero.
    const status = { ...rest, ...(shown === 0 ? {} : { count: shown }), conditions };
    await updateStatus(client, partitionSets, cluster, set, status as unknown as JsonObject);
  }
}

function newPartition(
  { metadata }: DeepReadonly<PartitionSet>,
  generateName: string,
  selector: DesiredPartition['selector'],
): Partition {
  const { name = '', uid = '' } = metadata;
  const apiVersion = 'topology.kcp.io/v1alpha1';
  const owner = { apiVersion, kind: 'PartitionSet', name, uid, controller: true, blockOwnerDeletion: true };
  return { apiVersion, kind: 'Partition', metadata: { generateName, ownerReferences: [owner] }, spec: { selector } };
}

/** Replaces the error of a write with kcp's message, which the condition shows; the cause is logged. */
async function withMessage(message: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    throw new Error(message, { cause });
  }
}

/** Equal for selectors with the same labels and expressions. */
function selectorKey({ matchLabels = {}, matchExpressions = [] }: DeepReadonly<DesiredPartition['selector']>): string {
  const labels = Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([labels, matchExpressions as Json]);
}

const failed = (type: string, reason: string, message: string): NewKcpCondition => ({
  type,
  status: 'False',
  severity: 'Error',
  reason,
  message,
});

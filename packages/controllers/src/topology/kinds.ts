import type { GroupVersionResource, Json, KubeObject } from '@multiplane/apimachinery';
import type { KcpCondition } from '../runtime/kcp-conditions.ts';

const topology = (resource: string): GroupVersionResource => ({
  group: 'topology.kcp.io',
  version: 'v1alpha1',
  resource,
});

export const partitions = topology('partitions');
export const partitionSets = topology('partitionsets');

export interface PartitionSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Json[];
}

export type Partition = KubeObject & { spec?: { selector?: PartitionSelector } };

export interface PartitionSetSpec {
  readonly dimensions?: readonly string[];
  readonly shardSelector?: PartitionSelector;
}

export type PartitionSet = KubeObject & {
  spec?: PartitionSetSpec;
  status?: { count?: number; conditions?: KcpCondition[] };
};

import type { LogicalClusterName } from '@multiplane/apimachinery';

/** A consumer, or a namespace of one, came or went. */
export interface ConsumerChange {
  readonly consumer: LogicalClusterName;
  /** Empty: the consumer as a whole. */
  readonly namespace: string;
  readonly isPresent: boolean;
}

/** Who sees the objects of a source, and in which namespaces. */
export interface Consumers {
  /** Logical clusters of this shard that have bound the resource, in bytewise order; for requests over all of them. */
  list(): readonly LogicalClusterName[];
  /** Namespaced objects are served where the consumer has their namespace; true for cluster-scoped resources. */
  hasNamespace(consumer: LogicalClusterName, namespace: string): boolean;
  subscribe(listener: (change: ConsumerChange) => void): () => void;
}

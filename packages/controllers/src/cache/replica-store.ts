import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import type { ReplicatedKind } from './replicated-kinds.ts';

/** Somebody else wrote a replica since it was looked at: what is known of it is about to change. */
export class ReplicaConflictError extends Error {
  override readonly name = 'ReplicaConflictError';
}

/** A replica as it was when somebody looked: what a write must still find. */
export interface KnownReplica {
  readonly revision: number;
}

/** The replicas of one shard, wherever they are stored. */
export interface ReplicaStore {
  /** Resolves when all replicas of this shard are known. */
  readonly synced: Promise<void>;

  /**
   * Tells every replica that is there at the beginning, and every one that somebody else changed or removed since. Of own
   * writes nothing is told. One listener.
   */
  follow(listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void): void;

  known(kind: ReplicatedKind, reference: ObjectReference): KnownReplica | undefined;

  /** Whether a replica is what {@link put} would write. */
  equals(known: KnownReplica, object: DeepReadonly<KubeObject>): boolean;

  /** Writes a replica where `known` still stands (undefined: where nothing stands). Throws {@link ReplicaConflictError}. */
  put(
    kind: ReplicatedKind,
    reference: ObjectReference,
    object: DeepReadonly<KubeObject>,
    known: KnownReplica | undefined,
  ): Promise<void>;

  /** Removes a replica that still is what is `known`. Throws {@link ReplicaConflictError}. */
  delete(kind: ReplicatedKind, reference: ObjectReference, known: KnownReplica): Promise<void>;
}
